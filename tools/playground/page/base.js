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
