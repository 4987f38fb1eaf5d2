#!/usr/bin/python3
"""The *_perf programs and the examples under mpirun: right data in every shape, one text and a nonzero status in all
processes when something fails, refusals under a wrong launcher, and nothing left behind by a killed mpirun.

Arguments: mpirun of the MPI of the build (empty: built without MPI), its name (openmpi or mpich), whether the build is
sanitized (yes or no), the programs in the order of PROGRAMS, then the examples in the order of EXAMPLES."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import launching  # noqa: E402
from launching import LIMIT, environment, run  # noqa: E402
import tap  # noqa: E402

PROGRAMS = ('all_reduce', 'broadcast', 'reduce', 'reduce_scatter', 'all_gather')
EXAMPLES = {'all_reduce_mpi': ('rank {} of {}: each element is {}', (2, 3)),
            'init_callback_mpi': ('rank {} of {}: the sum is {}', (2, 3))}
MPIRUN, MPI, SANITIZED = sys.argv[1], sys.argv[2], sys.argv[3] == 'yes'
PATHS = dict(zip(PROGRAMS + tuple(EXAMPLES), sys.argv[4:]))
SMALL = ('-b', '8', '-e', '64K', '-f', '16', '-n', '5', '-w', '1')


def mpirun(processes, *command):
    return launching.mpirun(MPIRUN, MPI, processes, *command)


def rows(done):
    return [line.split() for line in done.stdout.splitlines() if line and not line.startswith('#')]


def lines_with(text, part):
    return [line for line in text.splitlines() if part in line]


def data_is_right(program, processes, threads, *options):
    done = run(mpirun(processes, PATHS[program], '-t', str(threads), *SMALL, *options))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = rows(done)
    assert len(lines) >= 3 and all(line[8] == '0' and line[12] == '0' for line in lines), done.stdout
    assert f'# nProcess {processes} nThread {threads} ' in done.stdout, done.stdout
    assert done.stdout.count('# Out of bounds values : 0 OK') == 1, done.stdout


def roots_work(program):
    done = run(mpirun(2, PATHS[program], '-b', '1K', '-e', '1K', '-n', '3', '-t', '2', '-r', 'all'))
    assert done.returncode == 0 and len(rows(done)) == 4, done.stdout + done.stderr


def processes_choose_the_same_number_of_calls():
    """By time, which each process measures differently: they have to take the slowest rank's."""
    done = run(mpirun(3, PATHS['reduce'], '-b', '8', '-e', '4K', '-f', '8'))
    assert done.returncode == 0 and len(rows(done)) == 4, done.stdout + done.stderr


def one_process_is_one_rank():
    done = run(mpirun(1, PATHS['all_reduce'], '-b', '8', '-e', '8', '-n', '2'))
    assert done.returncode == 0 and '# nProcess 1 nThread 1 ' in done.stdout, done.stdout + done.stderr


def json_has_the_shape():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'run.json'
        done = run(mpirun(2, PATHS['all_reduce'], '-t', '2', *SMALL, '-J', path))
        assert done.returncode == 0, done.stdout + done.stderr
        data = json.loads(path.read_text())
    shape = [data['options'][name] for name in ('ranks', 'processes', 'threads')]
    assert shape == [4, 2, 2] and data['busFactor'] == 1.5 and data['wrong'] == 0, data['options']


def help_comes_once():
    done = run(mpirun(2, PATHS['all_reduce'], '--help'))
    assert done.returncode == 0 and done.stdout.count('Exit status') == 1, done.stdout + done.stderr


def statuses(processes, command, **more):
    """Each process's own status and what was written, as no launcher shows it: a shell in between notes it, and
    answers 0, so that the launcher waits for all."""
    with tempfile.TemporaryDirectory() as folder:
        note = f'"$@"; echo $? > {folder}/$$'
        done = run(mpirun(processes, 'sh', '-c', note, 'sh', *command), **more)
        return sorted(int(path.read_text()) for path in pathlib.Path(folder).iterdir()), done


def wrong_data_of_any_process_is_counted(processes, rank):
    command = (PATHS['all_reduce'], '-b', '2K', '-e', '2K', '-n', '1', '-d', 'int32')
    found, done = statuses(processes, command, TUTTI_PERF_FLIP=f'{rank}:77:30')
    assert found == [1] * processes, f'{found}\n{done.stdout}{done.stderr}'
    assert '# Out of bounds values : 2 FAILED' in done.stdout and rows(done)[0][8] == '1', done.stdout
    assert len(lines_with(done.stderr, f'rank {rank} recv[77]: got ')) == 2, done.stderr


def nonsense_is_said_once():
    found, done = statuses(3, (PATHS['reduce'], '-b', '2M', '-e', '1M'))
    assert found == [2] * 3 and done.stdout == '', f'{found}\n{done.stdout}{done.stderr}'
    assert done.stderr.count('reduce_perf: -b 2M is more than -e 1M') == 1, done.stderr


def call_that_cannot_run_is_said_once():
    found, done = statuses(3, (PATHS['broadcast'], *SMALL, '--algo', 'ring'))
    assert found == [3] * 3, f'{found}\n{done.stdout}{done.stderr}'
    assert done.stderr.count('ring') == len(lines_with(done.stderr, 'ring')) == 1, done.stderr


def other_options_are_refused():
    script = f'[ "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" = 1 ] && e=32 || e=16; exec {PATHS["all_reduce"]} -b 8 -e $e -n 1'
    found, done = statuses(2, ('sh', '-c', script))
    assert found == [2, 2], f'{found}\n{done.stdout}{done.stderr}'
    assert len(lines_with(done.stderr, 'process 1 was given other options')) == 1, done.stderr


def rank_that_gets_no_memory_ends_all():
    if SANITIZED:
        raise tap.Skip("a sanitizer's shadow does not fit a limited address space")
    script = (f'[ "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" = 1 ] && ulimit -v 1500000; '
              f'exec {PATHS["all_reduce"]} -b 8 -e 8 -n 1')
    found, done = statuses(3, ('sh', '-c', script))
    assert found == [3] * 3, f'{found}\n{done.stdout}{done.stderr}'
    # Of whichever rank was quickest to hear of it; the one that has no memory is named in any case.
    said = lines_with(done.stderr, 'all_reduce_perf: ')
    assert len(said) == 1 and re.search('rank 1( |:).*no address space', said[0]), done.stderr


def children(pid):
    """All descendants of a process."""
    parents = {}
    for entry in pathlib.Path('/proc').iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
        except OSError:
            pass  # it has ended meanwhile
    found, added = set(), {pid}
    while added:
        found |= added
        added = {child for child, parent in parents.items() if parent in found} - found
    return found - {pid}


def is_alive(pid):
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] not in 'ZX'


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'not within {seconds} s: {what}'
        time.sleep(0.05)


def programs_under(launcher, processes):
    """The process ids of the ranks once the first line of the table is there, so that all are at work."""
    launcher.stdout.readline()
    found = [pid for pid in children(launcher.pid)
             if os.path.realpath(f'/proc/{pid}/exe') == os.path.realpath(PATHS['all_reduce'])]
    assert len(found) == processes, f'{len(found)} ranks run'
    return found


def start_long_run(processes, *options):
    command = mpirun(processes, PATHS['all_reduce'], '-b', '8', '-e', '8', '-n', '1000000000', *options)
    return subprocess.Popen(command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed_mpirun_leaves_nothing():
    launcher = start_long_run(3)
    try:
        pids = programs_under(launcher, 3)
    finally:
        launcher.kill()
    wait_until('the ranks of a killed mpirun end', lambda: not any(map(is_alive, pids)))
    launcher.communicate(timeout=LIMIT)


def ends_with_its_launcher(launched):
    """Ranks of a killed mpirun may end because their MPI notices; this shows that they need no MPI for it."""
    more = {'OMPI_COMM_WORLD_SIZE': '1', 'OMPI_COMM_WORLD_RANK': '0'} if launched else {}
    script = '"$@" & wait'
    parent = subprocess.Popen(['sh', '-c', script, 'sh', PATHS['all_reduce'], '-t', '2', '-b', '8', '-e', '8', '-n',
                               '1000000000'], env=environment(**more), text=True, stdout=subprocess.PIPE)
    try:
        pid, = programs_under(parent, 1)
    finally:
        parent.kill()
        parent.wait()
    try:
        if launched:
            wait_until('a program ends with its parent', lambda: not is_alive(pid))
        else:
            time.sleep(0.5)
            assert is_alive(pid), 'a program that nobody has launched ended with the shell that started it'
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
        parent.stdout.close()


def stopped_process_ends_all():
    launcher = start_long_run(2, '-T', '2')
    try:
        pids = programs_under(launcher, 2)
        time.sleep(0.5)
        os.kill(pids[0], signal.SIGSTOP)
        _, complaints = launcher.communicate(timeout=LIMIT)
    finally:
        launcher.kill()
    assert launcher.returncode != 0, complaints
    assert len(lines_with(complaints, '# FAILED rank ')) == 1 and 'timeout' in complaints, complaints
    assert len(lines_with(complaints, 'another process has not answered')) == 1, complaints
    wait_until('all end', lambda: not any(map(is_alive, pids)))


FAKES = {'OMPI_COMM_WORLD_SIZE': 'OMPI_COMM_WORLD_RANK', 'PMI_SIZE': 'PMI_RANK',
         'MV2_COMM_WORLD_SIZE': 'MV2_COMM_WORLD_RANK', 'SLURM_NTASKS': 'SLURM_PROCID',
         'SLURM_STEP_NUM_TASKS': 'SLURM_PROCID', 'PMIX_SIZE': 'PMIX_RANK'}


def launcher_that_is_none_is_refused(size, rank):
    """The environment of a launcher, but no launcher that an MPI could join. A second process shows itself to a
    launcher that does not say its number."""
    process = '1' if size == 'PMIX_SIZE' else '0'
    done = run([PATHS['all_reduce'], '-b', '8', '-e', '8', '-n', '1'], **{size: '2', rank: process})
    assert done.returncode != 0 and done.stdout == '', done.stdout + done.stderr
    if process == '0':
        lines = done.stderr.splitlines()
        assert done.returncode == 2 and len(lines) == 1, done.stderr
        assert lines[0].startswith('all_reduce_perf: started by ') and f'({size}=2)' in lines[0], lines[0]


def mpirun_of_another_mpi_is_refused(other):
    path = shutil.which('mpirun.' + other)
    if not path:
        raise tap.Skip(f'no mpirun.{other} here')
    if not MPIRUN or other != MPI:
        more = ['--oversubscribe'] if other == 'openmpi' else []
        done = run([path, *more, '-n', '3', PATHS['all_reduce'], '-b', '8', '-e', '8', '-n', '1'])
        assert done.returncode != 0 and done.stdout.count('algbw') == 0, done.stdout + done.stderr
        assert len(lines_with(done.stderr + done.stdout, 'all_reduce_perf: started by ')) == 1, done.stdout + done.stderr


def example_runs(name, processes):
    text, _ = EXAMPLES[name]
    done = run(mpirun(processes, PATHS[name]))
    assert done.returncode == 0, done.stdout + done.stderr
    total = processes * (processes + 1) // 2
    assert sorted(done.stdout.splitlines()) == [text.format(r, processes, total) for r in range(processes)], done.stdout


if MPIRUN:
    for name in PROGRAMS:
        for shape in ((2, 1), (3, 1), (4, 1), (8, 1), (2, 2)):
            tap.case(f'data_is_right {name} {shape[0]} x {shape[1]}', data_is_right, name, *shape)
        tap.case(f'data_is_right {name} 2 x 2 registered', data_is_right, name, 2, 2, '-R', '1')
    for name in ('broadcast', 'reduce'):
        tap.case(f'roots_work {name}', roots_work, name)
    for shape in ((2, 1), (3, 0)):
        tap.case(f'wrong_data_of_any_process_is_counted {shape}', wrong_data_of_any_process_is_counted, *shape)
    for case in (processes_choose_the_same_number_of_calls, one_process_is_one_rank, json_has_the_shape,
                 help_comes_once, nonsense_is_said_once, call_that_cannot_run_is_said_once, other_options_are_refused,
                 rank_that_gets_no_memory_ends_all, killed_mpirun_leaves_nothing, stopped_process_ends_all):
        tap.case(case.__name__, case)
    for name, (_, sizes) in EXAMPLES.items():
        for size in sizes:
            tap.case(f'example_runs {name} {size}', example_runs, name, size)
else:
    tap.case('programs_under_mpirun', mpirun, 1)
for answer in (True, False):
    tap.case(f'ends_with_its_launcher {answer}', ends_with_its_launcher, answer)
for size_variable, rank_variable in FAKES.items():
    # What the own MPI's launcher says is believed by MPI itself, which then looks for that launcher.
    if size_variable != {'openmpi': 'OMPI_COMM_WORLD_SIZE', 'mpich': 'PMI_SIZE'}.get(MPI):
        tap.case(f'launcher_that_is_none_is_refused {size_variable}', launcher_that_is_none_is_refused, size_variable,
                 rank_variable)
for implementation in ('openmpi', 'mpich'):
    if implementation != MPI:
        tap.case(f'mpirun_of_another_mpi_is_refused {implementation}', mpirun_of_another_mpi_is_refused, implementation)
tap.finish()
