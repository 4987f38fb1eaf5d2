#!/usr/bin/python3
"""The *_perf programs as their users meet them: tables, exit statuses, refusals, the JSON file, and that a wrong
bit in a result is found. Arguments: the bench folder of the sources, whether the build is sanitized (yes or no), then
the programs in the order of PROGRAMS."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

PROGRAMS = ('all_reduce', 'broadcast', 'reduce', 'reduce_scatter', 'all_gather')
REDUCING = ('all_reduce', 'reduce', 'reduce_scatter')
ROOTED = ('broadcast', 'reduce')
LIMIT = 60  # seconds a single run may take
BENCH = pathlib.Path(sys.argv[1])
SANITIZED = sys.argv[2] == 'yes'
PATHS = dict(zip(PROGRAMS, sys.argv[3:]))


def run(program, *options, flip=None, algorithm=None, stdout=subprocess.PIPE, before=None):
    environment = {name: value for name, value in os.environ.items() if name not in ('TUTTI_PERF_FLIP', 'TUTTI_ALGO')}
    if flip:
        environment['TUTTI_PERF_FLIP'] = flip
    if algorithm:
        environment['TUTTI_ALGO'] = algorithm
    return subprocess.run([PATHS[program], *options], env=environment, timeout=LIMIT, text=True,
                          stdout=stdout, stderr=subprocess.PIPE, preexec_fn=before)


def rows(done):
    return [line.split() for line in done.stdout.splitlines() if line and not line.startswith('#')]


def run_json(program, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'run.json'
        done = run(program, *options, '-J', str(path))
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(path.read_text()), done


def table_is_right(program):
    done = run(program, '-t', '3', '-b', '8', '-e', '100K', '-f', '9', '-n', '3', '-w', '1')
    assert done.returncode == 0, done.stdout + done.stderr
    lines = rows(done)
    assert len(lines) >= 4 and all(len(line) == 13 for line in lines), done.stdout
    for line in lines:
        size, count, kind = int(line[0]), int(line[1]), line[2]
        blocks = 3 if program in ('reduce_scatter', 'all_gather') else 1
        assert size == count * blocks * 4 and kind == 'float', line
        assert line[3] == ('sum' if program in REDUCING else 'none'), line
        assert line[4] == ('0' if program in ROOTED else '-1'), line
        assert line[8] == '0' and line[12] == '0', line
    assert '# Out of bounds values : 0 OK' in done.stdout, done.stdout
    assert '# Avg bus bandwidth    :' in done.stdout, done.stdout


def all_types_and_operations_are_right(program):
    options = ['-t', '2', '-b', '8', '-e', '5000', '-f', '25', '-n', '1', '-w', '0', '-d', 'all', '-o', 'all',
               '-r', 'all']
    done = run(program, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = 12 * 3 * (5 if program in REDUCING else 1) * (2 if program in ROOTED else 1)
    assert len(rows(done)) == expected, f'{len(rows(done))} lines, expected {expected}'


def options_combine(program):
    done = run(program, '-t', '4', '-b', '0', '-e', '24', '-i', '8', '-n', '2', '-R', '1', '-u', '3', '--pin', '--plan')
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(rows(done)) >= 2, done.stdout


def one_rank_works(program):
    done = run(program, '-t', '1', '-b', '8', '-e', '8', '-n', '2')
    assert done.returncode == 0, done.stdout + done.stderr


def roots_rotate(program):
    done = run(program, '-t', '3', '-b', '1K', '-e', '1K', '-r', 'rotate', '-n', '7')
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(done)[0][4] == 'rotate' and 'back to back' in done.stdout, done.stdout
    done = run(program, '-t', '3', '-b', '1K', '-e', '1K', '-r', '2', '-n', '7')
    assert rows(done)[0][4] == '2' and 'a barrier before each call' in done.stdout, done.stdout


def unchecked_is_said():
    done = run('all_reduce', '-b', '8', '-e', '8', '-n', '1', '-c', '0')
    assert done.returncode == 0 and 'N/A' in rows(done)[0] and 'not checked' in done.stdout, done.stdout


def flipped_bit_is_found(program):
    rank = 0 if program in ROOTED else 1  # a rank that receives
    done = run(program, '-t', '2', '-b', '2K', '-e', '2K', '-n', '1', '-d', 'int32', flip=f'{rank}:77:30')
    assert done.returncode == 1, f'exit status {done.returncode}\n{done.stdout}{done.stderr}'
    wrong = [line for line in done.stderr.splitlines() if 'got' in line]
    assert len(wrong) == 2, done.stderr  # out of place and in place
    for line in wrong:
        assert f'rank {rank} recv[77]: got ' in line, line
        got, want = (int(part.split('(0x')[1].split(')')[0], 16) for part in line.split('got ')[1].split(', want '))
        assert got ^ want == 1 << 30, line
    line = rows(done)[0]
    assert line[8] == '1' and line[12] == '1', line
    assert '# Out of bounds values : 2 FAILED' in done.stdout, done.stdout


NONSENSE = (
    ('-d', 'float16'), ('-o', 'median'), ('-b', '2M', '-e', '1M'), ('-f', '0.5', '-b', '8', '-e', '16'),
    ('-f', '1', '-b', '8', '-e', '16'), ('-f', 'x'), ('-f', '2', '-i', '8'), ('-i', '0'), ('-t', '0'),
    ('-t', '-1'), ('-t', 'two'), ('-t', '100000'), ('-r', '2'), ('-r', '-1'), ('-r', 'first'),
    ('-b', '1', '-e', '1', '-d', 'double'), ('-b', '8X'), ('-b', '1P'), ('-b', '7.5'), ('-b', '-8'),
    ('-e', '99999999999G'), ('-b', '1', '-e', '1G', '-i', '1', '-d', 'int8'),
    ('-b', '1000000G', '-e', '1000000G'), ('-b', '7000000000G', '-e', '7000000000G', '-t', '1024'),
    ('-n', '0'), ('-w', '-1'), ('-c', 'yes'), ('-R', '3'), ('-u', '-1'),
    ('-J', '/nonexistent/folder/run.json'), ('--bogus',), ('stray',), ('-b',), ('-g', '2'), ('-b', '8', '-b', '16'),
    ('-b', '0', '-e', '64', '-f', '2'),
)


def nonsense_is_refused(options):
    done = run('reduce', *options)
    assert done.returncode == 2, f'exit status {done.returncode}\n{done.stdout}{done.stderr}'
    assert done.stdout == '', done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and lines[0].startswith('reduce_perf: ') and '--help' in lines[1], done.stderr
    said = lines[0].removeprefix('reduce_perf: ')
    assert said.startswith(tuple(options)), f'it does not begin with what was typed: {said}'


def nonsense_in_the_hook_is_refused(flip):
    done = run('all_reduce', '-b', '8', '-e', '8', '-n', '1', flip=flip)
    assert done.returncode == 2 and 'TUTTI_PERF_FLIP' in done.stderr, done.stdout + done.stderr


def units_are_named():
    done = run('all_reduce', '-b', '1P')
    assert 'K, M, G or T' in done.stderr, done.stderr


def unknown_algorithm_fails():
    done = run('all_reduce', '-b', '8', '-e', '8', '--algo', 'no-such-algorithm')
    assert done.returncode == 3 and 'no-such-algorithm' in done.stderr, done.stdout + done.stderr
    assert done.stderr.count('tuttiCommInitAllConfig') == 1, done.stderr


# Algorithms that serve the program's collective, but no barrier.
ALGORITHMS = {'all_reduce': 'ring', 'broadcast': 'chain', 'reduce': 'chain', 'reduce_scatter': 'ring',
              'all_gather': 'ring'}


def algorithm_is_forced(program):
    name = ALGORITHMS[program]
    setting = program.replace('_', '')
    options = ['-t', '3', '-b', '8', '-e', '8', '-n', '2', '--plan']
    for done in (run(program, *options, '--algo', name), run(program, *options, algorithm=name),
                 run(program, *options, '--algo', f'{setting}={name},barrier=oneshot'),
                 run(program, *options, '--algo', name, algorithm=f'{setting}=oneshot,barrier=ring')):
        assert done.returncode == 0, done.stdout + done.stderr
        assert rows(done)[0][13].startswith(name + '/'), done.stdout
        assert f'# forced: {setting}={name}' in done.stdout, done.stdout
    data, _ = run_json(program, *options, '--algo', name)
    assert data['options']['algorithm'] == f'{setting}={name}', data['options']


def algorithm_that_cannot_serve_fails():
    done = run('broadcast', '-b', '8', '-e', '8', '--algo', 'ring')
    assert done.returncode == 3 and 'cannot serve broadcast over 2 ranks' in done.stderr, done.stderr
    assert done.stderr.count('tuttiBroadcast') == 1 and 'broadcast: invalid' not in done.stderr, done.stderr
    done = run('all_reduce', '-b', '8', '-e', '8', '--algo', 'barrier=ring')
    assert done.returncode == 3 and 'cannot serve barrier' in done.stderr, done.stderr


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (300_000 * 1024, 300_000 * 1024))


def too_many_threads_are_refused():
    done = run('all_reduce', '-b', '1M', '-t', '64', '-n', '1', before=limit_memory)
    assert done.returncode == 3, f'exit status {done.returncode}\n{done.stdout}{done.stderr}'
    assert done.stderr.startswith('all_reduce_perf: no thread for rank ') and '-t' in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def lost_output_is_said(*options):
    with open('/dev/full', 'w', encoding='utf-8') as full:
        done = run('all_reduce', *options, stdout=full)
    assert done.returncode == 3, f'exit status {done.returncode}\n{done.stderr}'
    assert 'cannot write standard output: No space left on device' in done.stderr, done.stderr


def table_is_lost_but_not_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'run.json'
        lost_output_is_said('-b', '8', '-e', '8', '-n', '1', '-J', str(path))
        assert len(json.loads(path.read_text())['rows']) == 1


SMALL = ('-b', '8', '-e', '8', '-n', '1')


def refused_run_leaves_no_file():
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / 'run.json')
        for options, status in ((('--algo', 'bogus'), 3), (('-b', '7P'), 2), (('-b', '1', '-d', 'double'), 2)):
            done = run('all_reduce', *SMALL[2:], *options, '-J', path)
            assert done.returncode == status, done.stdout + done.stderr
            assert os.listdir(folder) == [], os.listdir(folder)


def failed_run_keeps_the_older_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'run.json'
        path.write_text('older')
        done = run('broadcast', *SMALL, '--algo', 'ring', '-J', str(path))
        assert done.returncode == 3 and f'nothing was written to {path}' in done.stderr, done.stdout + done.stderr
        assert path.read_text() == 'older' and os.listdir(folder) == ['run.json'], os.listdir(folder)


def file_is_replaced_where_it_lies():
    with tempfile.TemporaryDirectory() as folder:
        path, link = pathlib.Path(folder) / 'run.json', pathlib.Path(folder) / 'link.json'
        path.write_text('older')
        path.chmod(0o640)
        link.symlink_to('run.json')
        with path.open(encoding='utf-8') as older:
            assert run('all_reduce', *SMALL, '-J', str(link)).returncode == 0
            assert older.read() == 'older', 'a reader saw the file change'
        assert link.is_symlink() and json.loads(path.read_text())['rows'], path.read_text()
        assert path.stat().st_mode & 0o777 == 0o640, oct(path.stat().st_mode)
        assert sorted(os.listdir(folder)) == ['link.json', 'run.json'], os.listdir(folder)


def file_into_a_pipe_comes_after_the_table():
    done = run('all_reduce', *SMALL, '-J', '/dev/stdout')
    assert done.returncode == 0, done.stderr
    table, brace, rest = done.stdout.partition('{\n')
    assert '# Avg bus bandwidth' in table and json.loads(brace + rest)['rows'], done.stdout


def unwritable_places_are_said():
    done = run('all_reduce', *SMALL, '-J', '/dev/full')
    assert done.returncode == 3 and 'cannot write /dev/full: No space left on device' in done.stderr, done.stderr
    done = run('all_reduce', *SMALL, '-J', '/tmp')
    assert done.returncode == 2 and 'Is a directory' in done.stderr and done.stdout == '', done.stdout + done.stderr
    with tempfile.NamedTemporaryFile('w+', encoding='utf-8') as file:
        done = run('all_reduce', *SMALL, '-J', file.name, stdout=file)
        assert done.returncode == 2 and 'standard output' in done.stderr, done.stderr


def help_teaches(program):
    done = run(program, '--help')
    assert done.returncode == 0, done.stderr
    for word in ('algbw', 'busbw', 'Examples', 'Exit status', '-b,--minbytes', '--json', 'How it is timed'):
        assert word in done.stdout, f'{word} is not in the help'
    assert max(map(len, done.stdout.splitlines())) <= 110, 'a line of the help is too long'
    assert 'bench/' not in done.stdout, 'the help of an installed program names a place in the source tree'


def json_has_everything(program):
    data, done = run_json(program, '-t', '2', '-b', '64', '-e', '4K', '-f', '8', '-n', '4')
    assert data['format'] == 'tutti-perf' and data['formatVersion'] == 2
    assert data['program'] == program + '_perf' and data['command'][1:5] == ['-t', '2', '-b', '64'], data['command']
    assert data['machine']['cpu'] and data['machine']['cores'] >= 1 and data['version'] and data['date'].endswith('Z')
    assert data['options']['ranks'] == 2 and data['wrong'] == 0
    assert data['timing'] == ('barrier-and-maximum' if program in ROOTED else 'back-to-back')
    assert len(data['rows']) == len(rows(done)) == 3
    factor = {'all_reduce': 1.0, 'broadcast': 1.0, 'reduce': 1.0, 'reduce_scatter': 0.5, 'all_gather': 0.5}[program]
    assert data['busFactor'] == factor, data['busFactor']
    for row, line in zip(data['rows'], rows(done)):
        assert row['sizeBytes'] == int(line[0]) and row['count'] == int(line[1])
        for placement in ('outOfPlace', 'inPlace'):
            result = row[placement]
            assert result['iterations'] == 4 and result['wrong'] == 0
            assert 0 < result['leastBatchUs'] <= result['timeUs'] <= result['mostBatchUs'], result
            assert abs(result['algbwGBps'] - row['sizeBytes'] / result['timeUs'] / 1e3) <= 1e-6 * result['algbwGBps']
            assert abs(result['busbwGBps'] - factor * result['algbwGBps']) <= 1e-6 * result['algbwGBps']
    mean = sum(row[p]['busbwGBps'] for row in data['rows'] for p in ('outOfPlace', 'inPlace')) / 6
    assert abs(data['averageBusbwGBps'] - mean) <= 1e-6 * mean


def bus_factor_grows_with_ranks():
    data, _ = run_json('all_reduce', '-t', '4', '-b', '64', '-e', '64', '-n', '1')
    assert data['busFactor'] == 1.5, data['busFactor']
    data, _ = run_json('all_gather', '-t', '4', '-b', '64', '-e', '64', '-n', '1')
    assert data['busFactor'] == 0.75, data['busFactor']


def report(*arguments):
    return subprocess.run([str(BENCH / 'report'), *arguments], timeout=LIMIT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def report_makes_tables():
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / 'run.json')
        assert run('all_reduce', '-b', '1K', '-e', '1M', '-f', '32', '-n', '2', '-J', path).returncode == 0
        one = report(path)
        assert one.returncode == 0 and '| 1 KiB |' in one.stdout and '| 1 MiB |' in one.stdout, one.stdout + one.stderr
        assert 'Command: `' in one.stdout and 'all_reduce_perf of tutti' in one.stdout, one.stdout
        two = report('--names', 'first,second', path, path)
        assert two.returncode == 0 and '| size | first (us) | second (us) |' in two.stdout, two.stdout + two.stderr


def report_says_what_is_wrong_with_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'run.json'
        assert run('all_reduce', *SMALL, '-J', str(path)).returncode == 0
        whole = path.read_bytes()
        for content, words in ((b'{"format": "else"}', 'not written by'), (b'', 'the file is empty'),
                               (whole[:len(whole) // 2], 'cut short'), (b'\xff\xfe', 'not a text'),
                               (whole.replace(b'"timeUs"', b'"time"'), "KeyError('timeUs')"),
                               (b'[1]', 'not written by')):
            path.write_bytes(content)
            bad = report(str(path))
            assert bad.returncode == 2 and bad.stdout == '', bad.stdout + bad.stderr
            assert bad.stderr.startswith(f'report: {path}: ') and words in bad.stderr, bad.stderr
            assert len(bad.stderr.splitlines()) == 1, bad.stderr
        bad = report(str(path) + '.not-there')
        assert bad.returncode == 2 and 'No such file' in bad.stderr, bad.stderr


for name in PROGRAMS:
    tap.case(f'table_is_right {name}', table_is_right, name)
    tap.case(f'all_types_and_operations_are_right {name}', all_types_and_operations_are_right, name)
    tap.case(f'options_combine {name}', options_combine, name)
    tap.case(f'one_rank_works {name}', one_rank_works, name)
    tap.case(f'flipped_bit_is_found {name}', flipped_bit_is_found, name)
    tap.case(f'json_has_everything {name}', json_has_everything, name)
    tap.case(f'help_teaches {name}', help_teaches, name)
    tap.case(f'algorithm_is_forced {name}', algorithm_is_forced, name)
for name in ROOTED:
    tap.case(f'roots_rotate {name}', roots_rotate, name)
for nonsense in NONSENSE:
    tap.case(f'nonsense_is_refused {" ".join(nonsense)}', nonsense_is_refused, nonsense)
for hook in ('x', '1:2', '2:0:0', '0:2:0', '0:0:32', '0:0:0x', '-1:0:0'):
    tap.case(f'nonsense_in_the_hook_is_refused {hook}', nonsense_in_the_hook_is_refused, hook)
tap.case('unchecked_is_said', unchecked_is_said)
tap.case('lost_output_is_said table', lost_output_is_said, *SMALL)
tap.case('lost_output_is_said help', lost_output_is_said, '--help')
for case in (units_are_named, unknown_algorithm_fails, algorithm_that_cannot_serve_fails, table_is_lost_but_not_the_file,
             refused_run_leaves_no_file, failed_run_keeps_the_older_file, file_is_replaced_where_it_lies,
             file_into_a_pipe_comes_after_the_table, unwritable_places_are_said, report_says_what_is_wrong_with_a_file):
    tap.case(case.__name__, case)
if not SANITIZED:  # which needs more address space than the case allows
    tap.case('too_many_threads_are_refused', too_many_threads_are_refused)
tap.case('bus_factor_grows_with_ranks', bus_factor_grows_with_ranks)
tap.case('report_makes_tables', report_makes_tables)
tap.finish()
