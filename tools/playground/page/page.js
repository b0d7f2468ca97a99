'use strict';
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  addEventListener('error', (event) => { root.dataset.error = String(event.message); });
  addEventListener('unhandledrejection', (event) => { root.dataset.error = String(event.reason); });

  // ---- Small things -------------------------------------------------------------------------------------------------

  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function button(text, act, name) {
    const element = make('button', name, text);
    element.addEventListener('click', act);
    return element;
  }

  const GRAMMAR = {
    tir: {
      key: /^(for|in|if|else|let|alloc|return|yield|where|attributes|cast|compute|true|false|inf|nan|schedule|schedule\.func|bind|sum|prod|min|max|any|all|tir\.func|te\.func|te\.combiner|te\.intrin)$/,
      type: /^(f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32|bool|index|[iu](8|16|32|64))(x[0-9]+)?$/,
    },
    cuda: {
      key: /^(extern|__global__|__launch_bounds__|__shared__|__device__|__forceinline__|__restrict__|__align__|static|inline|struct|const|volatile|asm|for|if|else|while|do|return|sizeof|true|false|__syncthreads|threadIdx|blockIdx)$/,
      type: /^(void|bool|char|short|int|long|unsigned|float|double|half|half2|__half|__half2|__nv_bfloat16|size_t|u?int(8|16|32|64)_t|(float|int|uint|double)[234])$/,
    },
  };
  const TOKEN = /(\/\/.*|#include.*|#line.*)|(@"(?:[^"\\]|\\.)*"|@[A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*")|(\b0x[0-9A-Fa-f.]+(?:p[+-]?\d+)?\w*|\b\d[\d.]*(?:[eE][+-]?\d+)?\w*)|([A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*)/g;

  /** The classes of a line: [start, end, class], in order. */
  function classes(line, language) {
    const [found, grammar] = [[], GRAMMAR[language]];
    if (!grammar || line.length > 4000) return found;
    for (const match of line.matchAll(TOKEN)) {
      const [text, comment, symbol, string, number, word] = match;
      let name = '';
      if (comment) name = 'c'; else if (symbol) name = 'y'; else if (string) name = 'q'; else if (number) name = 'd';
      else if (grammar.key.test(word)) name = 'k';
      else if (grammar.type.test(word)) name = 't';
      else if (language === 'tir' && word.includes('.')) name = 'o';
      if (name) found.push([match.index, match.index + text.length, name]);
    }
    return found;
  }

  /** Puts a line into `into`, coloured; `marks` are [start, end, class of an underline]. */
  function put(into, line, language, marks) {
    const edges = new Set([0, line.length]);
    const spans = classes(line, language);
    for (const [start, end] of [...spans, ...(marks || [])]) { edges.add(start); edges.add(end); }
    const sorted = [...edges].filter((at) => at >= 0 && at <= line.length).sort((a, b) => a - b);
    for (let n = 0; n + 1 < sorted.length; n += 1) {
      const [from, to] = [sorted[n], sorted[n + 1]];
      const holds = ([start, end]) => start <= from && to <= end;
      const [span, mark] = [spans.find(holds), (marks || []).find(holds)];
      let target = into;
      if (mark) { target = target.appendChild(make('u', mark[2])); }
      if (span) { target = target.appendChild(make('span', span[2])); }
      target.append(line.slice(from, to));
    }
  }

  function code(text, language) {
    const pre = make('div', 'code');
    for (const line of text.split('\n')) put(pre.appendChild(make('div')), line, language);
    return pre;
  }

  // ---- The compiler, in a worker --------------------------------------------------------------------------------------

  const compiler = {
    module: null, worker: null, waiting: new Map(), next: 1, options: null, restarts: 0,

    async load() {
      const packed = await (await fetch('data:application/octet-stream;base64,' + $('module').textContent.trim())).blob();
      const bytes = new Response(packed.stream().pipeThrough(new DecompressionStream('gzip')), { headers: { 'content-type': 'application/wasm' } });
      this.module = await WebAssembly.compileStreaming(bytes);
      this.url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
      this.options = await this.start();
    },

    /** Starts a worker with an instance of its own; the module is compiled once. */
    start() {
      this.worker = new Worker(this.url);
      this.worker.onmessage = ({ data }) => this.told(data);
      this.worker.onerror = (event) => this.ended(`the worker failed: ${event.message}`);
      return this.send({ module: this.module }).then(({ answer }) => answer);
    },

    send(message) {
      const id = this.next;
      this.next += 1;
      return new Promise((resolve) => {
        this.waiting.set(id, resolve);
        this.worker.postMessage({ id, ...message });
      });
    },

    told({ id, answer, trap, time }) {
      if (trap !== undefined) { this.ended(`the compiler ended: ${trap}`); return; }
      const resolve = this.waiting.get(id);
      this.waiting.delete(id);
      if (resolve) resolve({ answer, time });
    },

    /** Gives up the instance and all that was asked of it, and starts another. The text is the page's, and stays. */
    ended(why) {
      this.worker.terminate();
      const waiting = [...this.waiting.values()];
      this.waiting.clear();
      this.restarts += 1;
      root.dataset.restarts = String(this.restarts);
      for (const resolve of waiting) resolve({ ended: why });
      this.start();
    },

    ask(request) { return this.send({ request }); },
  };

  // ---- The state of the page ------------------------------------------------------------------------------------------

  const state = { tab: 'passes', cases: [], steps: null, step: -1, mode: 'diff', block: { launch: 0, block: 0, buffer: '' }, busy: 0, version: 0 };
  const view = $('view');

  function status(text, bad) {
    $('status').textContent = text;
    $('status').className = bad ? 'bad' : '';
  }

  function request(call, more) {
    const chosen = state.cases[$('case').selectedIndex] || {};
    return {
      call, text: $('text').value, target: $('target').value, defines: $('defines').value, pipeline: pipeline(),
      func: chosen.func || '', schedule: chosen.schedule || '', ...more,
    };
  }

  /** The pipeline of the field; where that is empty, `cuda` under the case that is chosen. */
  function pipeline() {
    const typed = $('pipeline').value.trim();
    return typed || usual();
  }

  function usual() {
    const chosen = state.cases[$('case').selectedIndex];
    return chosen && chosen.schedule ? `cuda{func=${chosen.func} schedule=${chosen.schedule}}` : 'cuda';
  }

  /** Asks the compiler, with the stop button on; null where the answer came too late or not at all. */
  async function ask(call, more) {
    const version = state.version;
    state.busy += 1;
    $('stop').disabled = false;
    view.classList.add('stale');
    status('…');
    const { answer, time, ended } = await compiler.ask(request(call, more));
    state.busy -= 1;
    if (!state.busy) { $('stop').disabled = true; view.classList.remove('stale'); }
    if (version !== state.version) return null;
    if (ended) { lost(ended); return null; }
    root.dataset.time = String(Math.round(time));
    status(`${call}: ${time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`}`, !answer.ok);
    return answer;
  }

  /** Says that an instance is gone. */
  function lost(why) {
    root.dataset.ended = why;
    status(why, true);
    view.replaceChildren(make('p', 'note bad', `${why}. Your text is as it was; the compiler was loaded again.`));
  }

  // ---- The editor -----------------------------------------------------------------------------------------------------

  let found = [];

  function draw() {
    const lines = $('text').value.split('\n');
    const marks = new Map();
    for (const { severity, location } of found) {
      if (!location || location.file !== 'playground.tir') continue;
      const last = location.end_line || location.line;
      for (let n = location.line; n <= last && n < location.line + 20; n += 1) {
        const text = [...(lines[n - 1] || '')];
        const at = (column) => text.slice(0, column - 1).join('').length;
        const from = n === location.line ? at(location.column) : 0;
        let to = n === last && location.end_column ? at(location.end_column) : (lines[n - 1] || '').length;
        if (to <= from) to = from + 1;
        marks.set(n - 1, [...(marks.get(n - 1) || []), [from, Math.min(to, Math.max((lines[n - 1] || '').length, from)), severity]]);
      }
    }
    const shade = document.createDocumentFragment();
    lines.forEach((line, n) => { put(shade, line, 'tir', marks.get(n)); shade.append('\n'); });
    $('shade').replaceChildren(shade);
    const gutter = document.createDocumentFragment();
    lines.forEach((_, n) => gutter.append(marks.has(n) ? make('b', '', String(n + 1)) : String(n + 1), '\n'));
    $('gutter').replaceChildren(gutter);
    scrolled();
  }

  function scrolled() {
    $('shade').scrollTop = $('text').scrollTop;
    $('shade').scrollLeft = $('text').scrollLeft;
    $('gutter').scrollTop = $('text').scrollTop;
  }

  function tell(diagnostics) {
    found = diagnostics || [];
    $('found').replaceChildren(...found.map((one) => {
      const element = make('div', `diagnostic ${one.severity} code`, one.text);
      element.addEventListener('click', () => go(one.location));
      return element;
    }));
    draw();
  }

  function go(location) {
    if (!location || location.file !== 'playground.tir') return;
    const lines = $('text').value.split('\n');
    const at = lines.slice(0, location.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + location.column - 1;
    $('text').focus();
    $('text').setSelectionRange(at, at);
    $('text').scrollTop = Math.max(0, (location.line - 8) * 19);
  }

  /** Reads the text: its cases, and what is wrong with it. Returns whether it parses. */
  async function look() {
    const answer = await ask('look');
    if (!answer) return false;
    tell(answer.diagnostics);
    if (!answer.ok) return false;
    const before = $('case').value;
    state.cases = answer.cases;
    $('case').replaceChildren(...answer.cases.map(({ name }) => new Option(name, name)));
    const wanted = state.wanted || before;
    state.wanted = '';
    if (answer.cases.some(({ name }) => name === wanted)) $('case').value = wanted;
    $('pipeline').placeholder = usual();
    return true;
  }

  // ---- The views ------------------------------------------------------------------------------------------------------

  const views = {
    async passes() {
      const answer = await ask('run');
      if (!answer) return;
      tell(answer.diagnostics);
      if (!answer.steps) { view.replaceChildren(); return; }
      state.steps = answer.steps;
      const last = answer.steps.findLastIndex(({ text }) => text);
      if (!answer.steps[state.step] || !answer.steps[state.step].text) state.step = last;
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

  const steps = () => Number(state.limit || 2e9);

  function limit() {
    const label = make('label', '', 'Step limit ');
    const input = label.appendChild(make('input'));
    input.value = String(steps());
    input.id = 'steps';
    input.addEventListener('change', () => { state.limit = Math.max(1, Math.round(Number(input.value) || 2e9)); run(); });
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

  function chooser(answer) {
    const bar = make('div', 'bar');
    const field = (text, value, act) => {
      const label = bar.appendChild(make('label', '', `${text} `));
      const input = label.appendChild(make('input'));
      input.value = String(value);
      input.addEventListener('change', () => { act(Math.max(0, Math.round(Number(input.value) || 0))); run(); });
    };
    if (answer && answer.launches > 1) field('Launch', state.block.launch, (value) => { state.block.launch = value; state.block.buffer = ''; });
    field('Block', state.block.block, (value) => { state.block.block = value; });
    if (answer) {
      const select = bar.appendChild(make('label', '', 'Buffer ')).appendChild(make('select'));
      select.id = 'buffer';
      answer.buffers.forEach(({ name, memory, elem, shape }, n) => select.append(new Option(`${name}: ${elem}[${shape.join(', ')}] ${memory}`, name, false, n === answer.watched)));
      select.addEventListener('change', () => { state.block.buffer = select.value; run(); });
    }
    return bar;
  }

  const ROWS = 64;
  const COLUMNS = 48;

  /** A row a thread, a column an access of it, in order; barriers divide the columns. */
  function block(answer) {
    const threads = answer.block.reduce((product, extent) => product * extent, 1);
    const epochs = [];
    for (const access of answer.accesses) {
      const epoch = (epochs[access.barriers] ||= new Map());
      if (!epoch.has(access.thread)) epoch.set(access.thread, []);
      epoch.get(access.thread).push(access);
    }
    const widths = epochs.map((epoch) => Math.max(0, ...[...epoch.values()].map((list) => list.length)));
    const races = answer.accesses.filter(({ race }) => race);
    const bar = chooser(answer);
    bar.append(make('span', '', `${answer.name}: grid (${answer.grid.join(', ')}), block (${answer.block.join(', ')}), ${answer.accesses.length + answer.dropped} accesses`));
    bar.append(make('span', races.length ? 'bad' : 'good', races.length ? `${races.length} accesses race` : 'no race seen'));
    // Threads that race come first where not all are shown.
    const order = [...Array(threads).keys()];
    const racing = new Set(races.map(({ thread }) => thread));
    if (threads > ROWS) order.sort((a, b) => racing.has(b) - racing.has(a) || a - b);
    const shown = order.slice(0, ROWS).sort((a, b) => a - b);
    const table = make('table', 'threads');
    const cells = new Map();
    const head = table.appendChild(make('tr'));
    head.append(make('th', 'thread', 'thread'));
    widths.forEach((width, n) => { if (width) { const cell = head.appendChild(make('th', 'barrier', n === 0 ? 'start' : `after barrier ${n}`)); cell.colSpan = Math.min(width, COLUMNS); } });
    for (const thread of shown) {
      const row = table.appendChild(make('tr'));
      row.append(make('th', 'thread', String(thread)));
      widths.forEach((width, n) => {
        const list = (epochs[n] && epochs[n].get(thread)) || [];
        for (let k = 0; k < Math.min(width, COLUMNS); k += 1) {
          const access = list[k];
          const cell = row.appendChild(make('td', access ? access.kind : ''));
          if (k === 0) cell.classList.add('barrier');
          if (access) fill(cell, access, cells);
        }
      });
    }
    for (const list of cells.values()) for (const { cell, access } of list) cell.addEventListener('click', () => lit(access, cells, answer));
    const more = threads > ROWS || widths.some((width) => width > COLUMNS) || answer.dropped;
    const note = more ? make('p', 'note', `Shown are ${Math.min(threads, ROWS)} of ${threads} threads and up to ${COLUMNS} accesses of each between two barriers.`) : '';
    const program = make('div');
    program.id = 'program';
    view.replaceChildren(bar, table, note, program);
    root.dataset.races = String(races.length);
    if (races.length) lit(races[0], cells, answer); else program.append(code(answer.program, 'tir'));
  }

  function fill(cell, access, cells) {
    cell.textContent = `${{ read: 'r', write: 'w', update: 'u' }[access.kind]} ${access.place.replace(/^[^[]*/, '')} ${access.value}`;
    cell.title = `${access.kind} ${access.place}, value ${access.value}, line ${access.line}${access.race ? `; races with thread ${access.race.thread}, line ${access.race.line}` : ''}`;
    if (access.race) { cell.classList.add('race'); if (access.race.same) cell.classList.add('same'); }
    if (!cells.has(access.cell)) cells.set(access.cell, []);
    cells.get(access.cell).push({ cell, access });
  }

  /** Lights all accesses to the cell of `access`, and its line in the program. */
  function lit(access, cells, answer) {
    for (const element of view.querySelectorAll('.lit')) element.classList.remove('lit');
    for (const { cell } of cells.get(access.cell) || []) cell.classList.add('lit');
    const program = $('program');
    const text = code(answer.program, 'tir');
    const lines = [access.line, ...(access.race ? [access.race.line] : [])];
    lines.forEach((line) => { if (text.children[line - 1]) text.children[line - 1].classList.add('mark'); });
    const race = access.race ? ` It races with thread ${access.race.thread}, line ${access.race.line}${access.race.same ? ', which gives the same value' : ''}.` : '';
    program.replaceChildren(make('p', 'note', `Thread ${access.thread}: ${access.kind} of ${access.place}, value ${access.value}, line ${access.line}.${race}`), text);
  }

  // ---- What happens when --------------------------------------------------------------------------------------------

  async function run() {
    state.version += 1;
    const version = state.version;
    if (state.busy) compiler.ended('a newer request took its place');
    const good = await look();
    if (version !== state.version) return;
    if (good) await views[state.tab]();
    if (version === state.version) root.dataset.idle = String(version);
  }

  let timer = 0;
  function soon() {
    draw();
    clearTimeout(timer);
    timer = setTimeout(run, 350);
  }

  function open(tab) {
    state.tab = tab;
    for (const element of document.querySelectorAll('#tabs button')) element.setAttribute('aria-selected', String(element.dataset.tab === tab));
    return run();
  }

  function load({ text, pipeline: typed, target, wanted, tab, defines }) {
    $('text').value = text;
    $('pipeline').value = typed || '';
    $('defines').value = defines || '';
    if (target) $('target').value = target;
    state.wanted = wanted || '';
    state.step = -1;
    state.block = { launch: 0, block: 0, buffer: '' };
    draw();
    return open(tab || state.tab);
  }

  const examples = JSON.parse($('examples').textContent);

  function choose(name) {
    const example = examples.flatMap(({ list }) => list).find((one) => one.name === name);
    if (!example) return false;
    $('example').value = name;
    load({ wanted: example.case, ...example });
    return true;
  }

  // ---- Links ----------------------------------------------------------------------------------------------------------

  async function packed(text) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let binary = '';
    bytes.forEach((byte) => { binary += String.fromCharCode(byte); });
    return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
  }

  async function link() {
    const held = { text: $('text').value, pipeline: $('pipeline').value, target: $('target').value, wanted: $('case').value, tab: state.tab, defines: $('defines').value };
    location.hash = `text=${await packed(JSON.stringify(held))}`;
    try { await navigator.clipboard.writeText(location.href); status('the link is in the clipboard'); } catch { status('the link is in the address bar'); }
  }

  /** Loads what the fragment holds; what is no link of ours is left alone. */
  async function follow() {
    const [, kind, value] = /^#(text|example)=(.*)$/.exec(location.hash) || [];
    try {
      if (kind === 'text') { const held = JSON.parse(await unpacked(value)); if (typeof held.text === 'string') { await load(held); return true; } }
      if (kind === 'example') return choose(decodeURIComponent(value));
    } catch { status('the link cannot be read', true); }
    return false;
  }

  // ---- Begin ----------------------------------------------------------------------------------------------------------

  $('text').addEventListener('input', soon);
  $('text').addEventListener('scroll', scrolled);
  $('text').addEventListener('keydown', (event) => {
    if (event.key !== 'Tab' || event.shiftKey || event.ctrlKey) return;
    event.preventDefault();
    document.execCommand('insertText', false, '  ');
  });
  addEventListener('keydown', (event) => { if (event.ctrlKey && event.key === 'Enter') run(); });
  for (const id of ['pipeline', 'defines', 'target']) $(id).addEventListener('change', run);
  $('case').addEventListener('change', () => { $('pipeline').placeholder = usual(); run(); });
  $('run').addEventListener('click', run);
  $('stop').addEventListener('click', () => { state.version += 1; compiler.ended('stopped'); lost('stopped'); });
  $('link').addEventListener('click', link);
  $('example').addEventListener('change', () => { history.replaceState(null, '', `#example=${encodeURIComponent($('example').value)}`); choose($('example').value); });
  document.querySelectorAll('#tabs button').forEach((element) => element.addEventListener('click', () => open(element.dataset.tab)));
  $('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
  addEventListener('hashchange', () => { follow(); });

  for (const { group, list } of examples) {
    const element = make('optgroup');
    element.label = group;
    for (const { name } of list) element.append(new Option(name, name));
    $('example').append(element);
  }

  (async () => {
    status('loading…');
    try { await compiler.load(); } catch (error) { status(`the compiler cannot be loaded: ${error.message}`, true); root.dataset.error = String(error); return; }
    root.dataset.loaded = String(Math.round(performance.now()));
    $('target').replaceChildren(...compiler.options.targets.map((name) => new Option(name, name)));
    $('target').value = compiler.options.target;
    if (!(await follow())) choose(examples[0].list[0].name);
    root.dataset.ready = '1';
  })();
})();
