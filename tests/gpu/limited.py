"""A command that may hang or die: it runs in a process group of its own, its output is passed on as it comes, and when
its time is over all of the group is killed."""
import dataclasses
import os
import signal
import subprocess
import threading
import time

KILLING = 5     # seconds for what was killed to be gone


@dataclasses.dataclass
class Ended:
    """How a command ended. `status` is subprocess's: the negative number of a signal, None if it cannot be killed."""
    status: int
    lines: list
    late: bool
    seconds: float


def run(command, limit, environment):
    """Runs the command for at most `limit` seconds, with `environment` added to ours."""
    begin = time.monotonic()
    lines = []
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace', env={**os.environ, **environment},
                               start_new_session=True)

    def pass_on():
        for line in process.stdout:
            lines.append(line.rstrip('\n'))
            print(lines[-1], flush=True)

    reader = threading.Thread(target=pass_on, daemon=True)
    reader.start()
    late = False
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        seconds = time.monotonic() - begin
        kill_group(process.pid)     # what it started and left behind as well
        try:
            process.wait(KILLING)
        except subprocess.TimeoutExpired:
            print('== it cannot be killed', flush=True)
        reader.join(KILLING)
    return Ended(process.returncode, list(lines), late, seconds)


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
