"""The Test Anything Protocol for tests written in Python: one line a case, so that Meson counts cases. A test calls
case() for each and ends with finish()."""
import sys
import traceback

_lines = []
_failed = 0


class Skip(Exception):
    """Raised by a case that cannot run here; its text is the reason."""


def case(name, run, *arguments, **named):
    """Runs one case: it fails by raising, with the text that a person should read."""
    global _failed
    number = len(_lines) + 1
    try:
        run(*arguments, **named)
        line = f'ok {number} {name}'
    except Skip as reason:
        line = f'ok {number} {name} # SKIP {reason}'
    except Exception as error:  # a test reports whatever went wrong
        _failed += 1
        line = f'not ok {number} {name}'
        text = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
        print('\n'.join('# ' + part for part in text.splitlines()))
    print(line, flush=True)
    _lines.append(line)


def finish():
    print(f'1..{len(_lines)}', flush=True)
    sys.exit(1 if _failed else 0)
