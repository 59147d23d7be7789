"""What the engine itself looks for, beside the catalogue's signatures: how processes end.

Each probe is one pattern with a name; `ENDINGS` says what a launcher's line tells of a process, and
`WRAPPERS` which exceptions only report that something else failed.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "COUNTER",
    "ENDINGS",
    "INTERRUPTS",
    "PROBES",
    "SIGNALS",
    "STACK",
    "WRAPPERS",
    "WRAPPER_FILES",
    "WRAPPER_MESSAGES",
    "Ending",
    "Probe",
    "StackProbe",
    "ending_pattern",
    "probe_pattern",
    "signal_number",
]


# A counter of steps, batches or epochs with its value: a run at work.
COUNTER = r"(?i:\b(?:step|iter|iteration|epoch|batch)s?[ \t]*[:=#/]?[ \t]*\[?[ \t]*\d+\b)"


@dataclass(frozen=True, slots=True)
class Probe:
    """A named pattern of the engine's own."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Ending:
    """A line in which a launcher or a shell says how a process ended.

    `captures` has the named groups rank, local_rank, pid, host, exitcode, signal that the line
    carries, and `above` those of the line above, without which the line tells nothing. `kind` is
    `exit` (it ended), `told` (it was told to end) or `forced` (killed by its own launcher after it
    did not end).
    """

    probe: str
    pattern: str
    kind: str = "exit"
    captures: str | None = None
    above: str | None = None


# The source of each wording stands above it.
ENDINGS = (
    # torch/distributed/elastic/multiprocessing/api.py
    Ending(
        "elastic-failed",
        r"failed \(exitcode: -?\d{1,9}\) local_rank: \d{1,6}",
        captures=r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<local_rank>\d+)"
        r" \(pid: (?P<pid>\d+)\)",
    ),
    Ending(
        "elastic-told",
        r"Sending process \d{1,10} closing signal",
        kind="told",
        captures=r"Sending process (?P<pid>\d+) closing signal (?P<signal>SIG[A-Z0-9]+)?",
    ),
    Ending(
        "elastic-forced",
        r"Unable to shutdown process \d{1,10} via",
        kind="forced",
        captures=r"Unable to shutdown process (?P<pid>\d+) via",
    ),
    # torch/distributed/elastic/multiprocessing/errors/__init__.py, the summary's fields
    Ending(
        "elastic-exitcode",
        r"exitcode {0,4}: -?\d{1,9} \(pid: ",
        captures=r"exitcode {0,4}: (?P<exitcode>-?\d+) \(pid: (?P<pid>\d+)\)",
    ),
    # torch/multiprocessing/spawn.py, and testing/_internal/common_distributed.py with a capital
    Ending(
        "spawn-ended",
        r"[pP]rocess \d{1,6} terminated with (?:signal SIG|exit code)",
        captures=r"[pP]rocess (?P<local_rank>\d+) terminated with"
        r" (?:signal (?P<signal>SIG[A-Z0-9]+)|exit code (?P<exitcode>\d+))",
    ),
    # lightning/fabric/strategies/launchers/subprocess_script.py: the first child's rank is 1
    Ending(
        "lightning-child-ended",
        r"Child process with PID \d{1,10} terminated with code -?\d{1,9}",
        captures=r"\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+)"
        r" terminated with code (?P<exitcode>-?\d+)",
    ),
    # composer/cli/launcher.py
    Ending(
        "composer-rank-ended",
        r"Global rank \d{1,6} \(PID \d{1,10}\) exited with code -?\d",
        captures=r"Global rank (?P<rank>\d+) \(PID (?P<pid>\d+)\) exited with code"
        r" (?P<exitcode>-?\d+)",
    ),
    # Open MPI, orte/tools/orterun/help-orterun.txt and prte's help-prun.txt
    Ending(
        "mpirun-signal",
        r"process rank \d{1,6} with PID \d{1,10} on node [^ \n]{1,64} exited on signal",
        captures=r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>[^ \n]+)"
        r" exited on signal (?P<signal>\d+)",
    ),
    # Slurm, src/srun/libsrun/task_state and launch messages
    Ending(
        "srun-task-ended",
        r"tasks? \d[0-9,-]{0,60}: (?:Exited with exit code|Killed|Segmentation fault|Aborted"
        r"|Bus error|Terminated|Out Of Memory|Illegal instruction)",
        captures=r"error: (?P<host>[^ :\n]+): (?:task (?P<task>\d+)|tasks [0-9,-]+):"
        r" (?:Exited with exit code (?P<exitcode>\d+)|(?P<words>[A-Z][A-Za-z ]+))",
    ),
    # Open MPI, help-orterun.txt: two lines, the process's name above its exit code
    Ending(
        "mpirun-exit-code",
        r"Exit code: {1,8}\d",
        captures=r"Exit code: +(?P<exitcode>\d+)",
        above=r"Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]",
    ),
    # PRRTE, which launches for Open MPI 5, help-prun.txt: both in one line
    Ending(
        "prterun-exit-code",
        r"Process name: \[[^\]\n]{1,64},\d{1,6}\] {1,8}Exit code: {1,8}\d",
        captures=r"Process name: \[[^\]]+,(?P<rank>\d+)\] +Exit code: +(?P<exitcode>\d+)",
    ),
    # MPICH, src/pm/hydra: the box around a bad termination
    Ending("hydra-exit-code", r"EXIT CODE: \d", captures=r"EXIT CODE: (?P<exitcode>\d+)"),
)

PROBES = (
    Probe("traceback", r"Traceback \(most recent call last\)"),
    Probe("exception", r"(?:Error|Exception|Interrupt)(?::[ \t]|$)"),
    # What launchers and trainers say of a Ctrl-C: Lightning's trainer/call.py, torchelastic's
    # agent/server/api.py ("Received 2 death signal") and multiprocessing/api.py.
    Probe(
        "interrupt",
        r"Detected KeyboardInterrupt|Received (?:2|SIGINT|Signals\.SIGINT) death signal"
        r"|closing signal SIGINT",
    ),
    # torch/distributed/elastic/multiprocessing/errors/__init__.py: fields of one failure's block
    Probe("elastic-block-rank", r"rank {0,8}: \d{1,6} \(local_rank: \d{1,6}\)"),
    # …/errors/error_handler.py: the agent quotes the error of a child
    Probe("elastic-quoted-error", r"no error file defined for parent, to copy child error file"),
    # ray/train/v2/_internal/execution/worker_group/poll.py: the controller quotes a worker's error
    Probe("ray-quoted-error", r"\[Rank \d{1,6} Error Snippet\]:"),
    # text-generation-inference/launcher/src/main.rs: all that a shard wrote, and then ` rank=0`
    Probe("tgi-quoted-error", r"Shard complete standard error output:"),
    # torch/multiprocessing/spawn.py: the error of a child, quoted by its parent
    Probe("spawn-quoted-error", r"-- Process \d{1,6} terminated with the following error:"),
    # NCCL's misc/socket.cc and bootstrap.cc, with the sign of an interface's index and without
    Probe("own-address", r"NCCL INFO (?:NET/Socket|NET/IB|Bootstrap) ?: ?Using "),
    Probe("elastic-gave-up", r"ChildFailedError: ?$"),
    *(Probe(ending.probe, ending.pattern) for ending in ENDINGS),
)


@dataclass(frozen=True, slots=True)
class StackProbe:
    """A line that tells a part of the stack: by its group `value`, or by its mere presence."""

    part: str
    pattern: str
    captures: str | None = None
    value: str | None = None


STACK = (
    StackProbe(
        "torch",
        r"(?:torch|PyTorch)(?:[ \t]version)?[ \t]?[:=]{1,2}[ \t]?v?\d\.\d",
        r"(?:torch|PyTorch)(?:[ \t]version)?[ \t]?[:=]{1,2}[ \t]?v?(?P<value>\d+\.\d+[\w.+]*)",
    ),
    # NCCL src/init.cc prints it at NCCL_DEBUG=VERSION; ProcessGroupNCCL puts it into its errors.
    StackProbe(
        "nccl",
        r"NCCL[ \t]version[ \t:]{1,2}\d\.\d",
        r"NCCL[ \t]version[ \t:]{1,2}(?P<value>\d+\.\d+\.\d+)",
    ),
    StackProbe("cuda", r"\d\+cuda\d{1,2}\.\d", r"\d\+cuda(?P<value>\d+\.\d+)"),
    StackProbe("driver", r"Driver Version: \d{3}", r"Driver Version: (?P<value>\d{3}[\d.]*)"),
    StackProbe(
        "python", r"python3\.\d{1,2}/site-packages", r"python(?P<value>3\.\d+)/site-packages"
    ),
    StackProbe("launcher", r"torch/distributed/(?:run|launch|elastic)", value="torchrun"),
    StackProbe("launcher", r"deepspeed/launcher|\[launch\.py:\d", value="deepspeed"),
    StackProbe("launcher", r"accelerate/commands/launch", value="accelerate"),
    StackProbe("launcher", r"(?:srun: error|slurmstepd)", value="slurm"),
    StackProbe("launcher", r"mpirun (?:noticed|has exited|detected)", value="mpirun"),
    StackProbe("launcher", r"\((?:RayTrainWorker|TrainController|TorchTrainer) pid=", value="ray"),
)

# Linux x86-64 and arm64, signal(7)
SIGNALS = {
    1: ("SIGHUP", "hang-up: its terminal or session went away"),
    2: ("SIGINT", "interrupt: somebody pressed Ctrl-C"),
    4: ("SIGILL", "illegal instruction"),
    6: ("SIGABRT", "abort: the process stopped itself"),
    7: ("SIGBUS", "bus error: a mapped page could not be supplied"),
    8: ("SIGFPE", "arithmetic error"),
    9: ("SIGKILL", "killed from outside, with no chance to say why"),
    10: ("SIGUSR1", "user signal 1"),
    11: ("SIGSEGV", "segmentation fault"),
    12: ("SIGUSR2", "user signal 2"),
    13: ("SIGPIPE", "wrote to a pipe that nobody reads"),
    14: ("SIGALRM", "alarm clock"),
    15: ("SIGTERM", "told to end"),
    24: ("SIGXCPU", "used up its CPU time"),
    25: ("SIGXFSZ", "wrote past its file-size limit"),
}
_NUMBERS = {name: number for number, (name, _words) in SIGNALS.items()}
_WORDS = {
    "Killed": 9,
    "Out Of Memory": 9,
    "Segmentation fault": 11,
    "Aborted": 6,
    "Bus error": 7,
    "Terminated": 15,
    "Illegal instruction": 4,
}

# Exceptions that only report that another process failed; the report is never the root.
WRAPPERS = frozenset(
    {
        "ChildFailedError",
        "CheckpointException",
        "CalledProcessError",
        "ProcessExitedException",
        "ProcessRaisedException",
        "RayTaskError",
        "RayActorError",
        "ActorDiedError",
        "TrainingFailedError",
        "WorkerGroupError",
        "SignalException",
        "SystemExit",
        "BrokenProcessPool",
        "EngineDeadError",
        "ApiException",  # kubernetes.client: what the API server answered
    }
)
# The same for exceptions with a type of everyday use: the beginnings of their messages.
WRAPPER_MESSAGES = (
    "-- Process ",  # torch/multiprocessing/spawn.py before 1.8
    "Caught ",  # torch/_utils.py, ExceptionWrapper: the error of a loader worker or a replica
    "Traceback (most recent call last):",  # torch/utils/data/dataloader.py before 1.2: the same
    "Engine core initialization failed",  # vllm/v1/engine/core_client.py
    "Engine process failed to start",  # vllm/engine/multiprocessing/client.py
)
# The same where the message begins below the line of the exception: the files that raise it.
WRAPPER_FILES = ("torch/multiprocessing/spawn.py",)
INTERRUPTS = frozenset({"KeyboardInterrupt"})


def probe_pattern(name: str) -> str:
    """Return the pattern of the probe called `name`."""
    return next(probe.pattern for probe in PROBES if probe.name == name)


def ending_pattern(probe: str) -> str:
    """Return the pattern of the ending called `probe`."""
    return next(ending.pattern for ending in ENDINGS if ending.probe == probe)


def signal_number(name: str) -> int | None:
    """Return the number of a signal given as SIGKILL, 9 or in a shell's words; None if unknown."""
    if name.isdigit():
        return int(name)
    return _NUMBERS.get(name, _WORDS.get(name.strip()))
