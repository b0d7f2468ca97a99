// The view of a block: a row a thread, a field an access.

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
