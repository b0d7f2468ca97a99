// The editor: colours and errors below a text field, and what the text holds.

// The height of a line of the editor, in pixels.
const LINE = 19;
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
  $('text').scrollTop = Math.max(0, (location.line - 8) * LINE);
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
  const chosen = answer.cases.find(({ name }) => name === wanted);
  if (chosen) $('case').value = wanted;
  // A link that names a schedule shows it.
  const item = state.wanted && chosen && answer.items.find(({ keyword, name }) => keyword === 'schedule' && name === chosen.schedule);
  if (item) $('text').scrollTop = Math.max(0, (item.line - 3) * LINE);
  state.wanted = '';
  $('pipeline').placeholder = usual();
  return true;
}
