"""A command that may hang, die, print without end or not be there at all: it runs in a process group of its own, its
output is passed on as it comes, and when its time is over all of the group is killed."""
import collections
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time

KILLING = 5             # seconds for what was killed to be gone
MOST_LINES = 1000       # of the output that are kept, the last ones
MOST_CHARACTERS = 4000  # of a line; a longer one becomes several
CANNOT_START = 127      # what the dynamic linker and shells say, too
# What ends us, by an exception that is raised wherever we are.
ENDINGS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


@dataclasses.dataclass
class Ended:
    """How a command ended. `status` is subprocess's: the negative number of a signal, None if it cannot be killed."""
    status: int
    lines: list
    late: bool
    seconds: float


def tell(line):
    """Prints a line at once. Where nobody reads it or it has no room, it is lost, as are all that follow."""
    try:
        print(line, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(command, limit, environment):
    """Runs the command for at most `limit` seconds, with `environment` added to ours."""
    begin = time.monotonic()
    lines = collections.deque(maxlen=MOST_LINES)

    def pass_on():
        for line in iter(lambda: process.stdout.readline(MOST_CHARACTERS), ''):
            lines.append(line.rstrip('\n'))
            tell(lines[-1])

    reader = threading.Thread(target=pass_on, daemon=True)
    late = False
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)   # until there is someone to kill what is started here
    try:
        process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            encoding='utf-8', errors='replace', env={**os.environ, **environment}, start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, unblocked))
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        tell(f'{command[0]}: {error.strerror}')
        return Ended(CANNOT_START, [f'{command[0]}: {error.strerror}'], False, 0.0)
    try:
        reader.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        process.wait(limit)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        kill_group(process.pid)     # what it started and left behind as well
        seconds = time.monotonic() - begin
        try:
            process.wait(KILLING)
        except subprocess.TimeoutExpired:
            tell('== it cannot be killed')
        reader.join(KILLING)
    return Ended(process.returncode, list(lines), late, seconds)


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
