// Small things: elements, and lines of text in colours.

const root = document.documentElement;
const $ = (id) => document.getElementById(id);
addEventListener('error', (event) => { root.dataset.error = String(event.message); });
addEventListener('unhandledrejection', (event) => { root.dataset.error = String(event.reason); });

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
