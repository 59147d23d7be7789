from __future__ import annotations

import base64

from denpex.accounts.organisations import tokens


def test_code_holds_more_than_128_random_bits() -> None:
    drawn = {tokens.new_code() for _ in range(100)}

    assert len(drawn) == 100
    for code in drawn:
        assert [len(group) for group in code.split("-")] == [4] * 7
        assert len(base64.b32decode(code.replace("-", "") + "====")) * 8 == 136


def test_link_holds_128_random_bits() -> None:
    link = tokens.new_link()

    assert len(base64.urlsafe_b64decode(link + "==")) * 8 == 128
    assert tokens.new_link() != link


def test_code_is_known_however_it_is_typed() -> None:
    code = tokens.new_code()
    digest = tokens.digest_of_code(code)

    assert tokens.digest_of_code(f" {code.lower().replace('-', ' ')}\n") == digest
    assert tokens.digest_of_code(code.replace("-", "")) == digest
    assert tokens.digest_of_code(code[:-1]) != digest


def test_digest_tells_nothing_of_the_code() -> None:
    code = tokens.new_code()
    digest = tokens.digest_of_code(code)

    assert len(digest) == 64
    assert digest != tokens.digest_of_link(code)
