from __future__ import annotations

import mmap
import pickle
import re
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.masking import Masked, Masker, Replacement, anchors, load_masks, mask
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.text import LogFile

HUB_TOKEN = "hf_" + "InventedForThisTest0123456789abcde"
KEY_BEGIN, KEY_END = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY_LINE = "InventedForThisTest0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"


def masked_text(text: str) -> str:
    return mask([LogFile("log", text.encode())]).logs[0].data.decode()


def test_same_value_has_the_same_placeholder_in_all_files():
    masked = mask(
        [
            LogFile("rank_0.log", b"peer 10.0.0.2, then 10.0.0.1\n"),
            LogFile("rank_1.log", b"peer 10.0.0.1 of /home/ada/run\n"),
        ]
    )

    assert [log.name for log in masked.logs] == ["rank_0.log", "rank_1.log"]
    assert [log.data for log in masked.logs] == [
        b"peer <ip-1>, then <ip-2>\n",
        b"peer <ip-2> of /home/<user-1>/run\n",
    ]


def test_replacements_tell_file_and_line_of_the_first_appearance_and_count_all():
    masked = mask(
        [
            LogFile("a", b"start\n10.0.0.2\r\n10.0.0.1 10.0.0.2\n"),
            LogFile("b", f"\n\n{HUB_TOKEN} 10.0.0.1".encode()),
        ]
    )

    assert masked.replacements == (
        Replacement("<ip-1>", "ip", "a", 2, 2),
        Replacement("<ip-2>", "ip", "a", 3, 2),
        Replacement("<token-1>", "token", "b", 3, 1),
    )


def test_one_address_in_several_spellings_is_one_address():
    text = "10.0.0.1 ::ffff:10.0.0.1 0000:0000:0000:0000:0000:ffff:0a00:0001 FD00::1 fd00:0::1"

    assert masked_text(text) == "<ip-1> ::ffff:<ip-1> <ip-1> <ip-2> <ip-2>"


def test_secret_is_one_secret_as_password_and_as_token():
    text = "DB_PASSWORD=Invented0123 API_TOKEN=Invented0123"

    assert masked_text(text) == "DB_PASSWORD=<password-1> API_TOKEN=<password-1>"


def test_placeholders_in_the_paste_are_not_given_to_others():
    text = "<ip-1> and <ip-3> are known, 10.0.0.1 and 10.0.0.2 are not"

    assert masked_text(text) == "<ip-1> and <ip-3> are known, <ip-2> and <ip-4> are not"


def test_placeholder_in_one_file_is_not_given_to_a_value_of_another():
    masked = mask([LogFile("a", b"10.0.0.1"), LogFile("b", b"<ip-1>")])

    assert [log.data for log in masked.logs] == [b"<ip-2>", b"<ip-1>"]


def test_file_without_a_finding_is_the_same_object():
    log = LogFile("log", b"loss 2.1\n")

    assert mask([log]) == Masked((log,), ())
    assert mask([log]).logs[0] is log


def test_ports_and_brackets_stay_beside_an_address():
    text = "[10.0.0.1]:29500 10.0.0.1:29500 10.0.0.1<29500> 10.0.0.0/24 http://10.0.0.1:80/x"

    assert masked_text(text) == (
        "[<ip-1>]:29500 <ip-1>:29500 <ip-1><29500> <ip-2>/24 http://<ip-1>:80/x"
    )


def test_host_names_stay():
    text = "ip-10-0-0-12.ec2.internal gpu-a-018 worker-0.train.svc.cluster.local db.example.com"

    assert masked_text(text) == text


def test_login_loses_the_user_and_keeps_the_host():
    text = "ada@gpu-12:~/run$ ssh ada@10.0.0.1 scp x ada@gpu-12.example.com:/data"

    assert masked_text(text) == (
        "<user-1>@gpu-12:~/run$ ssh <user-1>@<ip-1> scp x <user-1>@gpu-12.example.com:/data"
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_key_of_twenty_lines_stays_twenty_lines(line_end):
    lines = [KEY_BEGIN, *(f"{KEY_LINE}{n:02}"[-64:] for n in range(17)), "Inv0==", KEY_END]
    masked = masked_text(line_end.join(["before", *lines, "after"]))

    expected = ["before", KEY_BEGIN, *["<key-1>"] * 18, KEY_END, "after"]
    assert masked == line_end.join(expected)


def test_key_among_lines_of_other_ranks_is_found():
    lines = [KEY_BEGIN, KEY_LINE, "[rank1]: step 3 loss 2.1", KEY_LINE, "Inv0==", KEY_END]

    assert masked_text("\n".join(lines)).split("\n") == [
        KEY_BEGIN,
        "<key-1>",
        "[rank1]: step 3 loss 2.1",
        "<key-1>",
        "<key-1>",
        KEY_END,
    ]


def test_key_that_breaks_off_ends_before_what_follows():
    text = (
        f"{KEY_BEGIN}\n{KEY_LINE}\nTraceback (most recent call last):\n  File 'x', line 1, in main"
    )

    assert masked_text(text) == text.replace(KEY_LINE, "<key-1>")


def test_key_in_one_line_becomes_one_placeholder():
    text = f'"{KEY_BEGIN}\\n{KEY_LINE}\\n{KEY_LINE}\\n{KEY_END}\\n"'

    assert masked_text(text) == f'"{KEY_BEGIN}\\n<key-1>\\n{KEY_END}\\n"'


def test_colour_codes_around_and_inside_a_value_do_not_save_it():
    torn = f"{HUB_TOKEN[:9]}\x1b[1m{HUB_TOKEN[9:]}"
    text = f"\x1b[32mHF_TOKEN\x1b[0m=\x1b[35m{torn}\x1b[0m \x1b[1m10.0.0.1"

    assert masked_text(text) == ("\x1b[32mHF_TOKEN\x1b[0m=\x1b[35m<token-1>\x1b[0m \x1b[1m<ip-1>")


def test_nul_bytes_do_not_save_a_value():
    masked = mask([LogFile("log", f"a\0{HUB_TOKEN[:9]}\0{HUB_TOKEN[9:]}\0".encode())])

    assert masked.logs[0].data == b"a\0<token-1>\0"


def test_carriage_returns_end_a_value_and_stay():
    assert masked_text("1%\r10.0.0.1\rPASSWORD=Invented1\rx") == (
        "1%\r<ip-1>\rPASSWORD=<password-1>\rx"
    )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_text_with_a_mark_is_masked_in_its_own_encoding(encoding):
    mark = "\ufeff"
    log = LogFile("log", f"{mark}één 10.0.0.1\r\n".encode(encoding))

    assert mask([log]).logs[0].data == f"{mark}één <ip-1>\r\n".encode(encoding)


def test_wide_text_without_a_mark_loses_its_secrets_too():
    masked = mask([LogFile("log", f"x {HUB_TOKEN} y".encode("utf-16-le"))]).logs[0].data

    assert b"Invented" not in masked.replace(b"\0", b"")


@pytest.mark.parametrize(
    "secret",
    [
        "hf_" + "aB3d" * 100_000,
        "eyJhbGciOiJub25lIn0." + "aB3d" * 100_000 + "." + "aB3d" * 10_000,
        "glpat-" + "aB3-" * 100_000,
    ],
)
def test_token_of_any_length_vanishes_whole(secret):
    assert masked_text(f"x {secret} y") == "x <token-1> y"


def test_value_of_any_length_vanishes_whole():
    value = "aB3d" * 100_000

    assert masked_text(f"PASSWORD={value} y") == "PASSWORD=<password-1> y"
    assert masked_text(f'PASSWORD="{value} {value}" y') == 'PASSWORD="<password-1>" y'


def test_key_in_one_line_of_any_length_vanishes_whole():
    body = "aB3d" * 100_000

    assert masked_text(f"{KEY_BEGIN}{body}{KEY_END}") == f"{KEY_BEGIN}<key-1>{KEY_END}"


def test_values_beyond_the_first_window_of_one_line_are_found():
    filling = "loss 2.1 " * 150_000
    text = f"{filling}10.0.0.1 {filling}{HUB_TOKEN} {filling}"

    assert masked_text(text) == f"{filling}<ip-1> {filling}<token-1> {filling}"


def test_token_that_a_terminal_cut_loses_both_halves():
    text = f"login with {HUB_TOKEN[:15]}\n{HUB_TOKEN[15:]} failed\n"

    assert masked_text(text) == "login with <token-1>\n<token-1> failed\n"


def test_quoted_value_that_a_terminal_cut_loses_both_halves():
    text = 'connect(password="Invented\r\n0123", retries=3)'

    assert masked_text(text) == 'connect(password="<password-1>\r\n<password-1>", retries=3)'


def test_secret_that_its_context_gave_away_is_hidden_where_it_stands_alone():
    text = "refused: Invented-0123\nexport ACME_TOKEN=Invented-0123\nInvented-0123x stays\n"

    assert masked_text(text) == (
        "refused: <token-1>\nexport ACME_TOKEN=<token-1>\nInvented-0123x stays\n"
    )


def test_secret_spreads_over_all_files():
    masked = mask([LogFile("a", b"refused: Invented-0123"), LogFile("b", b"X_TOKEN=Invented-0123")])

    assert [log.data for log in masked.logs] == [b"refused: <token-1>", b"X_TOKEN=<token-1>"]


@pytest.mark.parametrize("value", ["training", "cuda", "offline", "node-rank", "12345678"])
def test_common_word_as_a_password_takes_no_words_from_the_log(value):
    masked = masked_text(f"DB_PASSWORD={value}\n{value} started on cuda 12345678\n")

    assert masked == f"DB_PASSWORD=<password-1>\n{value} started on cuda 12345678\n"


def test_what_a_placeholder_uncovers_is_masked_too():
    glued = "AKIA" + "INVENTED0FOR1THI" + "10.0.0.1"

    assert masked_text(glued) == "<token-1><ip-1>"


def test_memory_map_is_masked_like_bytes():
    data = f"\x1b[1m{HUB_TOKEN}\x1b[0m\n10.0.0.1 /home/ada {KEY_BEGIN}\n{KEY_LINE}\n".encode()
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert mask([LogFile("log", mapped)]).logs == mask([LogFile("log", data)]).logs


def test_masker_from_a_cache_masks_like_a_new_one():
    masks = load_masks()
    fresh = Masker(masks)
    kept = pickle.loads(pickle.dumps(fresh.masks))
    restored = Masker(kept, Scanner(anchors(kept), fresh.scanner.to_bytes()))
    logs = [LogFile("log", f"{HUB_TOKEN} 10.0.0.1".encode())]

    assert mask(logs, restored) == mask(logs, fresh)


FRAGMENTS = sorted(
    {
        fragment
        for each in load_masks()
        for sample in each.samples
        for fragment in (sample.text, *sample.secrets)
    }
    | {near_miss for each in load_masks() for near_miss in each.near_misses}
)
JOINTS = [
    *(
        "\n",
        "\r\n",
        "\r",
        " ",
        '"',
        "'",
        "\\",
        "\\n",
        '\\"',
        ":",
        "=",
        ",",
        "/",
        "@",
        ".",
        "-",
        "_",
    ),
    *("<ip-1>", "<token-2>", "<user-1>", "***", "\x1b[31m", "\x1b[0m", "\0", "10.0.0.1", "1.2.3.4"),
    *("password=", "X_TOKEN=", "key: ", "version ", "/home/", "ada", "é", "%40", "://", "&", ";"),
    *("[", "]", "(", "{", "$", "5", "a", "F", "value: ", "name: ", "Bearer ", "fe80::", "::ffff:"),
    *("hf_", "sk-", "eyJ", "--token ", KEY_BEGIN, KEY_END, "aa:bb:cc:dd:ee:ff"),
]
NASTY = st.lists(st.sampled_from(FRAGMENTS) | st.sampled_from(JOINTS), max_size=12).map("".join)


@given(NASTY)
def test_masking_twice_is_masking_once(text):
    once = mask([LogFile("log", text.encode())])

    assert mask(once.logs) == Masked(once.logs, ())


@given(NASTY)
def test_line_ends_stay(text):
    masked = masked_text(text)

    assert re.findall("[\r\n]", masked) == re.findall("[\r\n]", text)


@given(st.lists(st.binary(max_size=300), max_size=3))
def test_any_bytes_are_masked_without_error(contents):
    logs = [LogFile(str(number), data) for number, data in enumerate(contents)]
    masked = mask(logs)

    assert [log.name for log in masked.logs] == [log.name for log in logs]
    assert mask(masked.logs).logs == masked.logs


@given(st.lists(NASTY, max_size=3))
def test_counts_are_those_of_the_output(texts):
    masked = mask([LogFile("log", text.encode()) for text in texts])
    output = b"\n".join(log.data for log in masked.logs)
    brought = "\n".join(texts)

    for each in masked.replacements:
        assert each.placeholder not in brought.replace("\0", "")
        assert each.count == output.count(each.placeholder.encode())


@pytest.mark.parametrize(
    ("typed", "masked"),
    [
        ("password\u00a0=\u00a0hunter2secret", "password = <password-1>"),
        ("password: \u201chunter2secret\u201d", 'password: "<password-1>"'),
        ("pass\u200bword = hunter2secret", "password = <password-1>"),
        (
            "&quot;api_key&quot;: &quot;hunter2secret&quot; in &lt;module&gt;",
            '"api_key": "<token-1>" in <module>',
        ),
        ("[31mpassword[0m [31m=[0m hunter2secret", "password = <password-1>"),
    ],
)
def test_what_copying_did_hides_no_secret(typed: str, masked: str) -> None:
    assert mask([LogFile("log.txt", typed.encode())]).logs[0].data.decode() == masked
