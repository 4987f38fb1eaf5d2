#!/usr/bin/python3
"""Builds every mutant (mutants.py) and has it caught. One of the step body is played on emulated threads under thread
sanitizer, and caught if the play names wrong data, a race or a stall, with its seed; another one is caught if the case that
is there for it fails in its unit test. The originals pass the same jobs, seeds and tests. One case a mutant, and at the end
the table mutant x catcher.

usage: mutate.py ROOT DRIVER WORK COMPILER... [-- MUTANT...]
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT, DRIVER, WORK = (pathlib.Path(argument) for argument in sys.argv[1:4])
sys.path[:0] = [str(ROOT / 'tests')]
import tap  # noqa: E402
from mutants import HANDSHAKE_TEST, MUTANTS, Mutant  # noqa: E402

COMPILER, _, ONLY = ' '.join(sys.argv[4:]).partition(' -- ')
COMPILER, ONLY = COMPILER.split(), ONLY.split()
FLAGS = ['-std=c++20', '-O1', '-g1', '-fPIC', '-fvisibility=hidden', '-ffp-contract=off', '-Wno-unused']
SEEDS = '12'
JOBS = 2
PLAY_SECONDS = 60
KINDS = ('data', 'race', 'stall')
ORIGINALS = [Mutant('original', '', []), Mutant('original-handshake', '', [], unit_test=HANDSHAKE_TEST)]


def apply_edits(text, mutant):
    for find, replacement in mutant.edits:
        pattern = r'(\s|//[^\n]*)+'.join(re.escape(word) for word in find.split())
        found = list(re.finditer(pattern, text))
        assert len(found) == 1, f'{mutant.file} has this {len(found)} times, not once:\n{find}'
        text = text[:found[0].start()] + replacement + text[found[0].end():]
    return text


def execute(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert result.returncode == 0, f'it does not compile:\n{result.stderr[:4000]}'


def edit(mutant):
    """A folder for the mutant, the edited file in it, and the folders in which headers are looked for."""
    folder = WORK / mutant.name
    folder.mkdir(parents=True, exist_ok=True)
    roots = [ROOT, ROOT / 'src']
    if mutant.edits:
        # Headers are found from the root or from src/, so the copy goes to the same place below the folder.
        copy = folder / mutant.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(apply_edits((ROOT / mutant.file).read_text(), mutant))
        roots = [folder, folder / 'src', *roots]
    return folder, [f'-I{root}' for root in roots]


def build_body(mutant):
    """The step body with the mutant's edits, as a shared object."""
    folder, includes = edit(mutant)
    source, object_file, shared = ROOT / 'tests/emulation/body.cc', folder / 'body.o', folder / 'body.so'
    execute(*COMPILER, *FLAGS, '-fsanitize=thread', *includes, '-c', source, '-o', object_file)
    execute(*COMPILER, '-fsanitize=thread', '-shared', object_file, '-o', shared)
    return shared


def build_test(mutant):
    """Its unit test with the mutant's edits, as a program."""
    folder, includes = edit(mutant)
    objects = []
    for source in mutant.unit_test.sources:
        objects.append(folder / (pathlib.Path(source).stem + '.o'))
        execute(*COMPILER, *FLAGS, *includes, '-c', (folder if mutant.edits and source == mutant.file else ROOT) / source,
                '-o', objects[-1])
    program = folder / 'test'
    execute(*COMPILER, *objects, '-o', program, *mutant.unit_test.libraries)
    return program


def failed_cases(program):
    """The cases of a unit test that failed."""
    result = subprocess.run([program], capture_output=True, text=True, timeout=PLAY_SECONDS)
    failed = set(re.findall(r'^\[  FAILED  \] (\S+) \(', result.stdout, re.MULTILINE))
    assert failed or result.returncode == 0, f'it ended with status {result.returncode}:\n{result.stdout[-4000:]}'
    return failed


def play(shared, prefix):
    """{kind: (job, seed, text)} of the first fault of each kind."""
    try:
        result = subprocess.run([*prefix, DRIVER, shared, SEEDS], capture_output=True, text=True, timeout=PLAY_SECONDS,
                                env={'TSAN_OPTIONS': 'halt_on_error=0:exitcode=0:report_signal_unsafe=0'})
        output, errors, status = result.stdout, result.stderr, result.returncode
    except subprocess.TimeoutExpired as late:
        output, errors, status = (late.stdout or b'').decode(), f'no end after {PLAY_SECONDS} s', 'none'
    caught = {}
    for line in output.splitlines():
        kind, _, rest = line.partition(' ')
        if kind in KINDS:
            job, seed, text = rest.split(' ', 2)
            caught[kind] = (job, seed, text)
    # A play that crashed could not say what the sanitizer had seen before.
    for job, seed in re.findall(r'^in (\S+) seed (\d+)$', errors, re.MULTILINE):
        caught.setdefault('race', (job, seed, 'thread sanitizer'))
    ended = any(line.startswith('plays ') for line in output.splitlines())
    assert caught or ended, f'the driver ended with status {status} and said:\n{output[-2000:]}{errors[-4000:]}'
    return caught


def prefix_for_sanitizer():
    """Thread sanitizer wants addresses where it expects them; where the machine scatters them, they are fixed."""
    for prefix in ([], ['setarch', '-R']):
        if subprocess.run([*prefix, DRIVER], capture_output=True).returncode == 2:
            return prefix
    return []


def run(mutant):
    """What caught it, or the exception that kept it from running."""
    try:
        return failed_cases(build_test(mutant)) if mutant.unit_test else play(build_body(mutant), PREFIX)
    except Exception as error:
        return error


def judge(mutant, result):
    if isinstance(result, Exception):
        raise result
    if mutant in ORIGINALS or mutant.equivalent:
        assert not result, f'it must not be caught: {result}'
    elif mutant.unit_test:
        assert mutant.case in result, f'{mutant.case} does not catch it: {result}'
    else:
        assert result, 'nothing catches it'


def row(mutant, result):
    if isinstance(result, Exception):
        return f'{mutant.name:42} error'
    if mutant.equivalent:
        return f'{mutant.name:42} equivalent: {mutant.equivalent}'
    if mutant.unit_test:
        return f'{mutant.name:42} {mutant.case if mutant.case in result else "-"}'
    cells = [f'{kind} {result[kind][0]}:{result[kind][1]}' if kind in result else '-' for kind in KINDS]
    return f'{mutant.name:42} ' + ''.join(f'{cell:26}' for cell in cells).rstrip()


PREFIX = prefix_for_sanitizer()
todo = ORIGINALS + [m for m in MUTANTS if not ONLY or m.name in ONLY]
table = []
with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
    for mutant, result in zip(todo, pool.map(run, todo)):
        tap.case(mutant.name, judge, mutant, result)
        table.append(row(mutant, result))
print(f'# {"mutant":42} first catch of each kind, as job:seed, or the case of a unit test')
for line in table:
    print(f'# {line}')
tap.finish()
