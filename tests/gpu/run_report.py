"""What tests/gpu/run found, as report.json for programs and report.md for people. The stages' own files have facts,
tables, notes and faults (tests/gpu/report.h); nothing here knows what a stage measures."""
import json
import os
import re
import subprocess

RIGHT = ('passed', 'skipped')
# Facts of the first stage that everything else is read with.
MACHINE = ('device', 'driver', 'runtime', 'architecture')


def project_of(root, build):
    """Version and commit, as far as they are known; what is packed says itself from which commit."""
    project = {}
    try:
        text = (root / 'meson.build').read_text(encoding='utf-8', errors='replace')
        if match := re.search(r"^\s*version: '([^']+)'", text, re.MULTILINE):
            project['version'] = match.group(1)
    except OSError:
        pass
    commit = commit_of(root)
    packed = build / 'commit'
    if packed.is_file():
        commit = packed.read_text(encoding='utf-8', errors='replace').strip()
    if commit:
        project['commit'] = commit
    return project


def commit_of(root):
    """The commit of the sources, with `-dirty` if they differ from it; '' if that is not known."""
    try:
        run = subprocess.run(['git', '-C', root, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ''
    return run.stdout.strip() if run.returncode == 0 else ''


def found_by_stage(file):
    """What a stage wrote; nothing where it wrote nothing, or something other than tests/gpu/report.h says."""
    try:
        found = json.loads(file.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        return {}
    return {key: found[key] for key in ('facts', 'tables', 'notes', 'nfaults', 'faults')} if is_found(found) else {}


def is_found(found):
    return (isinstance(found, dict) and isinstance(found.get('facts'), dict) and are_texts(found.get('notes')) and
            isinstance(found.get('nfaults'), int) and are_texts(found.get('faults')) and
            isinstance(found.get('tables'), list) and all(is_table(one) for one in found['tables']))


def is_table(one):
    return (isinstance(one, dict) and isinstance(one.get('title'), str) and are_texts(one.get('columns')) and
            isinstance(one.get('rows'), list) and
            all(isinstance(row, list) and len(row) == len(one['columns']) for row in one['rows']))


def are_texts(value):
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def count(stages):
    passed = sum(stage['outcome'] == 'passed' for stage in stages)
    skipped = sum(stage['outcome'] == 'skipped' for stage in stages)
    failed = [stage['name'] for stage in stages if stage['outcome'] not in RIGHT]
    return {'passed': passed, 'failed': len(failed), 'skipped': skipped, 'names': failed}


def summary(counted):
    names = ': ' + ', '.join(counted['names']) if counted['names'] else ''
    return f'{counted["passed"]} passed, {counted["skipped"]} skipped, {counted["failed"]} failed{names}'


def write(folder, report):
    """Both files, each whole at any time."""
    facts = report['stages'][0].get('facts', {}) if report['stages'] else {}
    counted = count(report['stages'])
    whole = {'project': report['project'], 'date': report['date'],
             'machine': {name: facts[name] for name in MACHINE if name in facts},
             'passed': counted['passed'], 'failed': counted['failed'], 'skipped': counted['skipped'],
             'stages': report['stages']}
    replace(folder / 'report.json', json.dumps(whole, indent=1) + '\n')
    replace(folder / 'report.md', markdown(whole, summary(counted)))


def replace(file, text):
    new = file.with_name(file.name + '.new')
    new.write_text(text, encoding='utf-8', errors='replace')
    os.replace(new, file)


def markdown(whole, counted):
    project, machine = whole['project'], whole['machine']
    lines = ['# GPU report', '',
             inline(f'{machine.get("device", "unknown device")}, driver {machine.get("driver", "unknown")}, '
                    f'runtime {machine.get("runtime", "unknown")}; {whole["date"]}; '
                    f'tutti {project.get("version", "of unknown version")}, commit {project.get("commit", "unknown")}.'),
             '',
             f'{counted}.', '']
    lines += table(['stage', 'outcome', 'seconds', 'limit', 'reason'],
                   [[stage[key] for key in ('name', 'outcome', 'seconds', 'limit', 'reason')]
                    for stage in whole['stages']])
    for stage in whole['stages']:
        lines += section(stage)
    return '\n'.join(lines) + '\n'


def section(stage):
    """What a stage has to say; nothing if it has not."""
    lines = []
    for text in stage.get('faults', []):
        lines.append(f'- FAILED: {inline(text)}')
    more = stage.get('nfaults', 0) - len(stage.get('faults', []))
    if more > 0:
        lines.append(f'- and {more} more faults')
    lines += [f'- {inline(text)}' for text in stage.get('notes', [])]
    if lines:
        lines.append('')
    if stage.get('facts'):
        lines += table(['', ''], [[name, value] for name, value in stage['facts'].items()]) + ['']
    for one in stage.get('tables', []):
        if one['rows']:
            lines += [f'### {inline(one["title"])}', ''] + table(one['columns'], one['rows']) + ['']
    if stage.get('output'):
        lines += ['The last lines it printed:', ''] + ['    ' + line for line in stage['output']] + ['']
    return ['', f'## {stage["name"]}', ''] + lines[:-1] if lines else []


def table(columns, rows):
    numeric = [all(not isinstance(row[i], str) or row[i] == '' for row in rows) for i in range(len(columns))]
    return (['| ' + ' | '.join(inline(column) for column in columns) + ' |',
             '|' + '|'.join('--:' if right else '---' for right in numeric) + '|'] +
            ['| ' + ' | '.join(inline(cell_text(cell)) for cell in row) + ' |' for row in rows])


def cell_text(cell):
    """Four digits of what was measured."""
    if not isinstance(cell, float):
        return '' if cell is None else str(cell)
    return f'{cell:.4g}' if abs(cell) < 1000 else f'{cell:.0f}'


def inline(text):
    return ' '.join(str(text).split()).replace('|', '\\|')
