// The views at the right but that of a block.

const views = {
  async passes() {
    const answer = await ask('run');
    if (!answer) return;
    tell(answer.diagnostics);
    if (!answer.steps) { view.replaceChildren(); return; }
    state.steps = answer.steps;
    // The loops that a schedule makes are what one looks for; where there are none, what the last pass left.
    const made = answer.steps.findIndex(({ name, text, failed }) => name === 'schedule' && text && !failed);
    const failed = answer.steps.findIndex((step) => step.failed);
    const last = answer.steps.findLastIndex(({ text }) => text);
    if (!answer.steps[state.step] || !answer.steps[state.step].text) state.step = failed < 0 && made > 0 ? made : last;
    passes();
  },
  cuda: () => emitted('cuda'),
  mlir: () => emitted('mlir'),
  async check() {
    const answer = await ask('check', { steps: steps() });
    if (!answer) return;
    tell(answer.diagnostics);
    checked(answer);
  },
  async report() {
    const answer = await ask('report');
    if (!answer) return;
    if (!answer.html) { tell(answer.diagnostics); view.replaceChildren(); return; }
    const frame = make('iframe');
    // Its script draws pictures; it has an origin of its own and reaches nothing here.
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.srcdoc = answer.html;
    view.replaceChildren(frame);
  },
  async block() {
    const answer = await ask('block', { ...state.block, steps: steps() });
    if (!answer) return;
    tell(answer.diagnostics);
    if (answer.accesses) block(answer);
    else view.replaceChildren(chooser(null));
  },
};

const steps = () => Number(state.limit || 2e8);

function limit() {
  const label = make('label', '', 'Step limit ');
  const input = label.appendChild(make('input'));
  input.value = String(steps());
  input.id = 'steps';
  input.addEventListener('change', () => { state.limit = Math.max(1, Math.round(Number(input.value) || 2e8)); run(); });
  return label;
}

function passes() {
  const list = make('div', 'steps');
  state.steps.forEach((step, n) => {
    const name = step.failed ? 'failed' : step.text ? 'changed' : 'same';
    const element = button(`${n} ${step.name}`, () => { if (step.text) { state.step = n; passes(); } }, name);
    if (n === state.step) element.setAttribute('aria-current', 'true');
    if (!step.text) element.disabled = true;
    element.title = step.failed ? 'failed' : step.text ? 'changed the program' : step.ran ? 'changed nothing' : 'did not run';
    list.append(element);
  });
  const step = state.steps[state.step];
  const stage = make('div', 'stage');
  const bar = stage.appendChild(make('div', 'bar'));
  bar.append(make('b', '', step ? `after ${step.name}` : ''));
  for (const [mode, text] of [['diff', 'Differences'], ['text', 'Program']]) {
    const element = button(text, () => { state.mode = mode; passes(); });
    element.setAttribute('aria-pressed', String(state.mode === mode));
    element.disabled = state.mode === mode;
    bar.append(element);
  }
  if (step) stage.append(state.mode === 'diff' && step.parts ? differences(step) : code(step.text, 'tir'));
  const columns = make('div', 'columns');
  columns.append(list, stage);
  const top = view.querySelector('.steps') ? view.querySelector('.steps').scrollTop : 0;
  view.replaceChildren(columns);
  list.scrollTop = top;
}

function differences(step) {
  const before = state.steps.slice(0, step.number).findLast(({ text }) => text);
  const [old, now] = [before.text.split('\n'), step.text.split('\n')];
  const out = make('div', 'code');
  const line = (text, name, sign) => { const row = out.appendChild(make('div', name)); row.append(`${sign} `); put(row, text, 'tir'); };
  step.parts.forEach(([same, oldAt, gone, newAt, come], n) => {
    if (!same) {
      for (let k = 0; k < gone; k += 1) line(old[oldAt + k], 'del', '-');
      for (let k = 0; k < come; k += 1) line(now[newAt + k], 'add', '+');
      return;
    }
    const [head, tail] = [n === 0 ? 0 : 3, n + 1 === step.parts.length ? 0 : 3];
    for (let k = 0; k < come; k += 1) {
      if (k >= head && k < come - tail && come > head + tail + 1) {
        out.append(make('div', 'gap', `  … ${come - head - tail} lines`));
        k = come - tail - 1;
      } else { line(now[newAt + k], '', ' '); }
    }
  });
  return out;
}

async function emitted(language) {
  const answer = await ask('run', { emit: language });
  if (!answer) return;
  tell(answer.diagnostics);
  if (!answer.emitted) { view.replaceChildren(make('p', 'note', 'Nothing was emitted.')); return; }
  const bar = make('div', 'bar');
  for (const manifest of answer.emitted.manifests) {
    for (const kernel of manifest.kernels) bar.append(make('span', '', `${kernel.name}: grid (${kernel.grid.map(size).join(', ')}), block (${kernel.block.map(size).join(', ')})`));
  }
  bar.append(button('Copy', () => navigator.clipboard.writeText(answer.emitted.text)));
  view.replaceChildren(bar, code(answer.emitted.text, language));
}

const size = (value) => (typeof value === 'object' ? '…' : String(value));

function checked(answer) {
  const bar = make('div', 'bar');
  bar.append(limit(), button('Check', run));
  if (answer.name === undefined) { view.replaceChildren(bar); return; }
  const table = make('table');
  const row = (name, value, style) => {
    if (value === null || value === undefined || value === '') return;
    const line = table.appendChild(make('tr'));
    line.append(make('th', '', name), make('td', style || '', String(value)));
  };
  row('case', answer.name);
  row('result', answer.ok ? 'ok' : 'wrong', answer.ok ? 'good' : 'bad');
  row('races', answer.races, answer.races === 'none' ? 'good' : 'bad');
  row('out of bounds, unwritten', answer.bounds, answer.bounds === 'none' ? 'good' : 'bad');
  row('values compared', answer.cells === null ? 'no definition to compare with' : `${answer.cells} cells, ${answer.inputs} sets of inputs${answer.sampled ? ', some blocks' : ''}`);
  row('in exact arithmetic', answer.exact);
  row('greatest absolute difference', answer.max_abs_err);
  row('greatest relative difference', answer.max_rel_err);
  row('point', answer.point);
  view.replaceChildren(bar, table);
  root.dataset.checked = answer.ok ? 'ok' : 'wrong';
}
