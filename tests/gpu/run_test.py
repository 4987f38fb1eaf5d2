#!/usr/bin/python3
"""tests/gpu/run with a stand-in for gpu_proof: what becomes of stages that fail, hang, crash, flood or find no GPU, of a
sanitizer that is absent or does not work, and what is written about them and where."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

RUN = pathlib.Path(__file__).with_name('run')
STAGES = ['probe', 'smoke', 'matrix', 'bandwidth', 'latency']
SANITIZED = ['memcheck', 'racecheck']
LIMIT = 60      # seconds that a run may take here

# Does with a stage what plan.json beside it says; a stage that is not in it passes.
PROGRAM = '''#!/usr/bin/python3
import json, os, pathlib, signal, subprocess, sys, time
here = pathlib.Path(__file__).parent
stage = sys.argv[1]
print('stage', stage, os.environ.get('CUDA_MODULE_LOADING'), flush=True)
plan = json.loads((here / 'plan.json').read_text()).get(stage, 'pass')
assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), 'a stage can be ended by any signal'
found = {'stage': stage, 'facts': {}, 'tables': [], 'notes': ['a note'], 'nfaults': 0, 'faults': []}
if stage == 'probe':
    found['facts'] = {'device': 'Stand-in 1', 'driver': '13.0', 'runtime': '13.0', 'memory, MiB': 7}
if plan == 'odd name':
    found['facts']['device'] = 'a|b\\n```'
if stage == 'bandwidth':
    found['tables'] = [{'title': 'Rates', 'columns': ['type', 'GB/s'], 'rows': [['f32', 1234.5678], ['a|b', 2]]}]
if plan == 'no gpu':
    print('no GPU: none')
    sys.exit(77)
if plan == 'fail':
    found.update(nfaults=12, faults=['f32 is wrong', 'bf16 is wrong'])
if plan == 'faults':
    found.update(nfaults=12)
if plan == 'crooked table':
    found.update(tables=[{'title': 'Rates', 'columns': ['type', 'GB/s'], 'rows': [['f32']]}])
written = {'cut off': '{"stage": "smo', 'a list': '[1]', 'no facts': '{"stage": "smoke"}'}.get(plan, json.dumps(found))
if '--json' in sys.argv and plan != 'writes nothing':
    pathlib.Path(sys.argv[sys.argv.index('--json') + 1]).write_text(written)
if plan == 'hang':
    child = subprocess.Popen(['sleep', '1000'])
    (here / 'pids').write_text(f'{os.getpid()} {child.pid}')
    print('hangs now', flush=True)
    time.sleep(1000)
if plan == 'crash':
    print('about to crash', flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
if plan == 'flood':
    sys.stdout.buffer.write(5000 * b'line\\n' + 2_000_000 * b'\\xff')
sys.exit(1 if plan in ('fail', 'flood') else 0)
'''

# Runs the program as a tool of it would.
SANITIZER = '''#!/usr/bin/python3
import pathlib, subprocess, sys
plan = pathlib.Path(__file__).with_name('tools').read_text()
options = dict(zip(sys.argv[1:5:2], sys.argv[2:5:2]))
tool = options['--tool']
print('========= COMPUTE-SANITIZER', flush=True)
if plan == 'no process':
    print('========= Error: No attachable process found')
    print('========= ERROR SUMMARY: 0 errors')
    sys.exit(0)
if plan == 'silent':
    print('this machine has no tools')
    sys.exit(3)
status = subprocess.run(sys.argv[5:]).returncode
small = sys.argv[6] == 'smoke_small'
found = plan == tool and small
if found:
    print('========= Invalid __global__ read of size 4 bytes')
print(f'========= ERROR SUMMARY: {int(found)} errors')
sys.exit(int(options['--error-exitcode']) if found else status)
'''


def script(file, text):
    file.write_text(text)
    file.chmod(0o755)


class Done:
    """A run in a folder of its own, with its report if it wrote one."""

    def __init__(self, plan, *options, tools=None, before=None, **start):
        with tempfile.TemporaryDirectory() as folder:
            self.build = pathlib.Path(folder)
            command = self.prepare(plan, tools) + list(options)
            if before:
                before(self.build)
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, **start)
            self.status, self.text = run.returncode, run.stdout
            output = self.build / 'gpu-report'
            self.json = json.loads((output / 'report.json').read_text()) if (output / 'report.json').is_file() else None
            self.md = (output / 'report.md').read_text() if (output / 'report.md').exists() else None
            pids = self.build / 'tests' / 'gpu' / 'pids'
            self.pids = [int(pid) for pid in pids.read_text().split()] if pids.exists() else []

    def prepare(self, plan, tools):
        folder = self.build / 'tests' / 'gpu'
        folder.mkdir(parents=True)
        script(folder / 'gpu_proof', PROGRAM)
        (folder / 'plan.json').write_text(json.dumps(plan))
        sanitizer = self.build / 'compute-sanitizer'
        if tools is not None:
            script(sanitizer, SANITIZER)
            (self.build / 'tools').write_text(tools)
        return [RUN, self.build, '--sanitizer', sanitizer]

    def stage(self, name):
        return next(stage for stage in self.json['stages'] if stage['name'] == name)

    def outcomes(self):
        return {stage['name']: stage['outcome'] for stage in self.json['stages']}

    def expect(self, status, **outcomes):
        """This status, and these outcomes; all others passed."""
        wanted = {name: outcomes.get(name, 'passed') for name in STAGES + SANITIZED}
        assert self.status == status and self.outcomes() == wanted, f'{self.status} {self.outcomes()}\n{self.text}'


def says(text, *parts):
    missing = [part for part in parts if part not in text]
    assert not missing, f'{missing} not in:\n{text}'


def is_gone(pid):
    """A process that ended but that nobody has waited for is gone as well."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


def are_gone(pids):
    assert len(pids) == 2, pids
    for _ in range(600):
        if all(is_gone(pid) for pid in pids):
            return
        time.sleep(0.1)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert False, f'{pids} went on'


def all_pass():
    done = Done({}, tools='')
    done.expect(0)
    assert done.stage('racecheck')['notes'] == ['a note', 'ERROR SUMMARY: 0 errors'], done.stage('racecheck')
    says(done.text, '== probe (at most 40 s)', 'stage smoke EAGER', 'stage smoke_small LAZY', '== bandwidth: passed in',
         '7 passed, 0 skipped, 0 failed')


def later_stages_run_after_a_failed_one():
    done = Done({'smoke': 'fail'}, tools='')
    done.expect(1, smoke='failed')
    says(done.text, '== smoke: FAILED: status 1', 'stage bandwidth', '6 passed, 0 skipped, 1 failed: smoke')


def faults_are_in_the_report():
    done = Done({'smoke': 'fail'}, tools='')
    stage = done.stage('smoke')
    assert stage['faults'] == ['f32 is wrong', 'bf16 is wrong'] and stage['nfaults'] == 12, stage
    assert stage['output'] == ['stage smoke EAGER'], stage
    says(done.md, '- FAILED: f32 is wrong', '- and 10 more faults', '| smoke | failed |')


def a_hanging_stage_is_killed():
    begin = time.monotonic()
    done = Done({'smoke': 'hang'}, '--limit', 'smoke=3', tools='')
    assert time.monotonic() - begin < 30
    done.expect(1, smoke='timed out')
    says(done.text, '== smoke: FAILED: not done after 3 s', 'stage bandwidth')
    assert 3 <= done.stage('smoke')['seconds'] < 15 and done.stage('smoke')['output'][-1] == 'hangs now'
    assert done.stage('smoke')['notes'] == ['a note']   # what it had written until then
    are_gone(done.pids)


def a_signal_is_named():
    done = Done({'smoke': 'crash'}, tools='')
    done.expect(1, smoke='crashed')
    says(done.text, '== smoke: FAILED: ended by SIGSEGV', 'stage bandwidth')
    says(done.md, '| ended by SIGSEGV |', 'about to crash')


def no_gpu():
    done = Done({'probe': 'no gpu'}, tools='')
    assert done.status == 77 and done.json is None, f'{done.status}\n{done.text}'
    says(done.text, '== no GPU: nothing was proved')
    assert 'smoke' not in done.text


def a_gpu_that_goes_away_is_a_failure():
    done = Done({'bandwidth': 'no gpu'}, tools='')
    done.expect(1, bandwidth='failed')


def no_build():
    run = subprocess.run([RUN, '/nowhere'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    assert run.returncode == 2 and 'build with -Dcuda=enabled' in run.stdout, f'{run.returncode}: {run.stdout}'


def report_has_the_values():
    done = Done({}, tools='')
    report = done.json
    assert report['machine'] == {'device': 'Stand-in 1', 'driver': '13.0', 'runtime': '13.0'}, report['machine']
    assert (report['passed'], report['failed'], report['skipped']) == (7, 0, 0)
    assert report['project']['version'][0].isdigit() and report['date'].endswith('+00:00')
    assert [stage['name'] for stage in report['stages']] == STAGES + SANITIZED
    assert done.stage('probe')['facts']['memory, MiB'] == 7 and done.stage('probe')['limit'] == 40
    assert done.stage('bandwidth')['tables'][0]['rows'][0] == ['f32', 1234.5678]
    says(done.md, 'Stand-in 1, driver 13.0, runtime 13.0', '7 passed, 0 skipped, 0 failed.', '| probe | passed |',
         '### Rates', '| type | GB/s |', '| f32 | 1235 |', '| a\\|b | 2 |', '| memory, MiB | 7 |', '- a note')


def an_odd_name_breaks_no_table():
    done = Done({'probe': 'odd name'})
    assert done.json['machine']['device'] == 'a|b\n```', done.json['machine']
    says(done.md, '\na\\|b ```, driver 13.0', '| device | a\\|b ``` |')


def a_packed_commit_is_told():
    done = Done({}, before=lambda build: (build / 'commit').write_text('0123abc\n'))
    assert done.json['project']['commit'] == '0123abc'
    says(done.md, 'commit 0123abc.')


def an_older_report_is_removed():
    def plant(build):
        (build / 'gpu-report').mkdir()
        for name in ('report.json', 'report.md', 'smoke.json'):
            (build / 'gpu-report' / name).write_text('{"notes": ["old"]}')
    done = Done({'probe': 'no gpu'}, before=plant)
    assert done.json is None and done.md is None
    done = Done({'smoke': 'no gpu'}, before=plant)      # ends before it writes anything
    assert done.stage('smoke')['notes'] == [], done.stage('smoke')


def no_sanitizer():
    done = Done({})
    done.expect(0, memcheck='skipped', racecheck='skipped')
    says(done.text, '== memcheck: skipped: compute-sanitizer is neither', '5 passed, 2 skipped, 0 failed')
    says(done.md, '| racecheck | skipped |', 'compute-sanitizer is neither')


def a_sanitizer_that_does_not_work():
    for tools, reason in (('no process', 'Error: No attachable process found'), ('silent', 'this machine has no tools')):
        done = Done({}, tools=tools)
        done.expect(0, memcheck='skipped', racecheck='skipped')
        says(done.stage('memcheck')['reason'], 'does not work here', reason)


def a_sanitizer_that_finds_something():
    for tool in SANITIZED:
        done = Done({}, tools=tool)
        done.expect(1, **{tool: 'failed'})
        says(done.text, f'== {tool}: FAILED: status 9', 'Invalid __global__ read')


def no_time_is_left():
    done = Done({'smoke': 'hang'}, '--limit', 'total=5')
    done.expect(1, smoke='timed out', matrix='not started', bandwidth='not started', latency='not started',
                memcheck='skipped', racecheck='skipped')
    says(done.text, '== bandwidth: FAILED: no time is left')


def interrupted(number):
    """What was printed comes at once, nothing stays behind, and what was found until then is written."""
    done = Done.__new__(Done)
    with tempfile.TemporaryDirectory() as folder:
        done.build = pathlib.Path(folder)
        command = done.prepare({'smoke': 'hang'}, None)
        environment = {name: value for name, value in os.environ.items() if name != 'PYTHONUNBUFFERED'}
        begin = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment,
                              preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as run:
            for line in run.stdout:
                if 'hangs now' in line:
                    break
            assert time.monotonic() - begin < 30, 'told only in the end'
            run.send_signal(number)
            status = run.wait(LIMIT)
        assert status == 128 + number, status
        are_gone([int(pid) for pid in (done.build / 'tests' / 'gpu' / 'pids').read_text().split()])
        report = json.loads((done.build / 'gpu-report' / 'report.json').read_text())
        assert [stage['name'] for stage in report['stages']] == ['probe']


def a_report_that_is_none_is_a_failure():
    for plan in ('writes nothing', 'cut off', 'a list', 'no facts', 'crooked table'):
        done = Done({'smoke': plan})
        done.expect(1, smoke='failed', memcheck='skipped', racecheck='skipped')
        says(done.text, '== smoke: FAILED: status 0, but it wrote no report')
    done = Done({'smoke': 'faults'})
    done.expect(1, smoke='failed', memcheck='skipped', racecheck='skipped')
    says(done.md, '| status 0, but 12 faults |')


def a_flood_is_cut():
    """Also where nothing but ASCII can be printed."""
    done = Done({'smoke': 'flood'}, env={**os.environ, 'LC_ALL': 'C', 'PYTHONUTF8': '0', 'PYTHONIOENCODING': 'ascii'})
    done.expect(1, smoke='failed', memcheck='skipped', racecheck='skipped')
    output = done.stage('smoke')['output']
    assert len(output) == 20 and {len(line) for line in output} == {4000}, [len(line) for line in output]
    assert set(output[-1]) == {'\ufffd'}, output[-1][:80]


def what_cannot_be_started():
    def replaced_by(text):
        return lambda build: script(build / 'tests' / 'gpu' / 'gpu_proof', text)
    # The dynamic linker, where a library is missing, ends with 127.
    for text, reason in (('#!/nowhere/python', 'No such file'), ('\x7fELF', 'Exec format error'),
                         ('#!/bin/sh\necho no libfmt.so >&2; exit 127', 'no libfmt.so')):
        done = Done({}, before=replaced_by(text))
        assert done.status == 2 and done.json is None, f'{done.status}\n{done.text}'
        says(done.text, reason, 'gpu_proof cannot be started here')


def a_folder_that_cannot_be_written():
    def planted(build):
        (build / 'gpu-report' / 'report.json').mkdir(parents=True)
    for options, before in ((('--output', '/proc'), None), (('--output', '/dev/null'), None), ((), planted)):
        done = Done({}, *options, before=before)
        assert done.status == 2 and 'stage probe' not in done.text, f'{done.status}\n{done.text}'
        says(done.text, 'tests/gpu/run: cannot write to ')


def no_room_for_a_report():
    done = Done({}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)))   # enough for a stage
    assert done.status == 1 and done.json is None, f'{done.status}\n{done.text}'
    says(done.text, '== the report cannot be written to ', 'File too large', '5 passed, 2 skipped, 0 failed')
    assert 'report.md' not in done.text.splitlines()[-1], done.text


def nobody_reads():
    done = Done.__new__(Done)
    with tempfile.TemporaryDirectory() as folder:
        done.build = pathlib.Path(folder)
        with subprocess.Popen(done.prepare({'smoke': 'flood'}, None), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            run.stdout.readline()
            run.stdout.close()
            errors = run.stderr.read()
            status = run.wait(LIMIT)
        report = json.loads((done.build / 'gpu-report' / 'report.json').read_text())
    assert status == 1 and not errors and (report['passed'], report['failed']) == (4, 1), f'{status} {errors} {report}'


def limits():
    done = Done({'smoke': 'hang'}, '--limit', 'smoke=0')
    done.expect(1, smoke='timed out', memcheck='skipped', racecheck='skipped')
    done = Done({}, '--limit', 'total=0')
    assert done.status == 1 and set(done.outcomes().values()) == {'not started', 'skipped'}, done.outcomes()
    for text in ('smoke', 'smoke=much', 'nothing=3'):
        done = Done({}, '--limit', text)
        assert done.status == 2 and done.json is None, f'{done.status}\n{done.text}'


def processes_of(folder):
    """Those that have its name in their command."""
    for file in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if folder.encode() in file.read_bytes() and not is_gone(file.parent.name):
                yield int(file.parent.name)
        except OSError:
            pass


def interrupted_while_a_stage_begins():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / 'tests' / 'gpu' / 'gpu_proof'
        program.parent.mkdir(parents=True)
        script(program, '#!/bin/sh\nsleep 100')
        for turn in range(8):
            with subprocess.Popen([RUN, folder], stdout=subprocess.PIPE, text=True) as run:
                assert run.stdout.readline().startswith('== probe')
                time.sleep(turn * 2e-4)
                run.send_signal(signal.SIGTERM)
                assert run.wait(LIMIT) == 128 + signal.SIGTERM, run.returncode
            behind = list(processes_of(folder))
            for pid in behind:
                os.kill(pid, signal.SIGKILL)
            assert not behind, f'{behind} went on after turn {turn}'


tap.case('all_pass', all_pass)
tap.case('later_stages_run_after_a_failed_one', later_stages_run_after_a_failed_one)
tap.case('faults_are_in_the_report', faults_are_in_the_report)
tap.case('a_hanging_stage_is_killed', a_hanging_stage_is_killed)
tap.case('a_signal_is_named', a_signal_is_named)
tap.case('no_gpu', no_gpu)
tap.case('a_gpu_that_goes_away_is_a_failure', a_gpu_that_goes_away_is_a_failure)
tap.case('no_build', no_build)
tap.case('report_has_the_values', report_has_the_values)
tap.case('an_odd_name_breaks_no_table', an_odd_name_breaks_no_table)
tap.case('a_packed_commit_is_told', a_packed_commit_is_told)
tap.case('an_older_report_is_removed', an_older_report_is_removed)
tap.case('no_sanitizer', no_sanitizer)
tap.case('a_sanitizer_that_does_not_work', a_sanitizer_that_does_not_work)
tap.case('a_sanitizer_that_finds_something', a_sanitizer_that_finds_something)
tap.case('no_time_is_left', no_time_is_left)
tap.case('a_report_that_is_none_is_a_failure', a_report_that_is_none_is_a_failure)
tap.case('a_flood_is_cut', a_flood_is_cut)
tap.case('what_cannot_be_started', what_cannot_be_started)
tap.case('a_folder_that_cannot_be_written', a_folder_that_cannot_be_written)
tap.case('no_room_for_a_report', no_room_for_a_report)
tap.case('nobody_reads', nobody_reads)
tap.case('limits', limits)
tap.case('interrupted_by_sigterm', interrupted, signal.SIGTERM)
tap.case('interrupted_by_sigint', interrupted, signal.SIGINT)
tap.case('interrupted_by_sighup', interrupted, signal.SIGHUP)
tap.case('interrupted_by_sigquit', interrupted, signal.SIGQUIT)
tap.case('interrupted_while_a_stage_begins', interrupted_while_a_stage_begins)
tap.finish()
