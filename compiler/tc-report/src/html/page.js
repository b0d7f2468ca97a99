'use strict';
(() => {
  const root = document.documentElement;
  // What went wrong is told where a test can see it.
  addEventListener('error', (event) => { root.dataset.error = String(event.message); });

  const KEYWORDS = {
    tir: /^(for|in|if|else|let|alloc|return|yield|where|attributes|cast|compute|true|false|inf|nan|schedule|serial|parallel|unrolled|vectorized|sum|prod|min|max|any|all)$/,
    cuda: /^(extern|__global__|__launch_bounds__|__shared__|__device__|__forceinline__|__restrict__|__align__|static|inline|struct|union|const|volatile|asm|for|if|else|while|do|return|sizeof|true|false|template|typename|namespace|using|reinterpret_cast|static_cast|__syncthreads|threadIdx|blockIdx|blockDim|gridDim)$/,
  };
  const TYPES = {
    tir: /^(f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32|bool|index|[iu](8|16|32|64))(x[0-9]+)?$/,
    cuda: /^(void|bool|char|short|int|long|unsigned|signed|float|double|half|half2|__half|__half2|__nv_bfloat16|size_t|u?int(8|16|32|64)_t|(float|int|uint|double|longlong)[234])$/,
  };
  const TOKEN = /(\/\/.*|#include.*|#line.*|#define.*)|(@"(?:[^"\\]|\\.)*"|@[A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*")|(\b0x[0-9A-Fa-f.]+(?:p[+-]?\d+)?\w*|\b\d[\d.]*(?:[eE][+-]?\d+)?\w*)|([A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*)/g;

  /** The classes of a line: [start, end, class] in order. */
  function classes(line, language) {
    const found = [];
    // A line this long is a table of numbers: colours would only take time.
    if (line.length > 5000) return found;
    for (const match of line.matchAll(TOKEN)) {
      const [text, comment, symbol, string, number, word] = match;
      let name = '';
      if (comment) name = 'c'; else if (symbol) name = 'y'; else if (string) name = 'q'; else if (number) name = 'd';
      else if (KEYWORDS[language].test(word)) name = 'k';
      else if (TYPES[language].test(word)) name = 't';
      else if (language === 'tir' && word.includes('.')) name = /^(tir|te|sched|gpu|wmma|mma|arith)\./.test(word) ? 'k' : 'o';
      if (name) found.push([match.index, match.index + text.length, name]);
    }
    return found;
  }

  /** Puts a line into `into`, coloured, with `marks` [start, end, start, end, …] marked. */
  function put(into, line, language, marks) {
    const spans = classes(line, language);
    let at = 0;
    const plain = (to) => {
      while (at < to) {
        let [end, target] = [to, into];
        if (marks) for (let i = 0; i < marks.length; i += 2) {
          if (at >= marks[i] && at < marks[i + 1]) { end = Math.min(to, marks[i + 1]); target = into.appendChild(document.createElement('mark')); break; }
          if (marks[i] > at) { end = Math.min(end, marks[i]); break; }
        }
        target.append(line.slice(at, end));
        at = end;
      }
    };
    for (const [start, end, name] of spans) {
      plain(start);
      const outer = into;
      into = outer.appendChild(document.createElement('span'));
      into.className = name;
      plain(end);
      into = outer;
    }
    plain(line.length);
  }

  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  /** The texts of a run, put together from differences. */
  class Texts {
    constructor({ lines, steps }) { this.lines = lines; this.steps = steps; this.known = []; }

    /** The numbers of the lines of text `n`, or null where it is too large to be kept. */
    text(n) {
      // From the last one that is known on, so that no chain of calls grows with the number of passes.
      let from = n;
      while (from > 0 && this.known[from] === undefined) from -= 1;
      for (let k = from; k <= n; k += 1) if (this.known[k] === undefined) this.known[k] = this.made(k);
      return this.known[n];
    }

    made(n) {
      const step = this.steps[n];
      if (step.whole) return step.whole;
      if (step.same) return n > 0 ? this.known[n - 1] : null;
      if (!step.parts) return null;
      const [old, out] = [this.known[n - 1], []];
      let at = 0;
      for (const part of step.parts) {
        if (typeof part === 'number') { for (let k = 0; k < part; k += 1) out.push(old[at + k]); at += part; }
        else { for (const id of part[1]) out.push(id); at += part[0]; }
      }
      return out;
    }

    /** What differs between text `n` and the one before: stretches {same, old, new, at: [old line, new line], marks}. */
    parts(n) {
      const step = this.steps[n];
      const list = [];
      if (step.parts) {
        const [old, text] = [this.text(n - 1), this.text(n)];
        let [i, j] = [0, 0];
        for (const part of step.parts) {
          const [gone, come, marks] = typeof part === 'number' ? [part, part, []] : [part[0], part[1].length, part[2]];
          list.push({ same: typeof part === 'number', old: old.slice(i, i + gone), new: text.slice(j, j + come), at: [i, j], marks });
          i += gone; j += come;
        }
      } else if (step.hunks) {
        let end = 0;
        for (const hunk of step.hunks.list) {
          if (hunk.old > end) list.push({ gap: hunk.old - end });
          let [i, j] = [hunk.old, hunk.new];
          for (const { same, p } of hunk.parts) {
            const [gone, come, marks] = same ? [p, p, []] : p;
            list.push({ same, old: gone, new: come, at: [i, j], marks });
            i += gone.length; j += come.length;
          }
          end = i;
        }
      }
      return list;
    }
  }

  const CONTEXT = 3;
  const CHUNK = 400;

  /** The viewer of a run. */
  class Viewer {
    constructor(section, data) {
      this.section = section;
      this.texts = new Texts(data);
      this.stage = section.querySelector('.stage');
      this.buttons = [...section.querySelectorAll('.steps button')];
      this.mode = matchMedia('(max-width: 900px)').matches ? 'unified' : 'split';
      this.fold = true;
      this.buttons.forEach((button, n) => button.addEventListener('click', () => this.show(n)));
      this.current = 0;
    }

    get changed() { return this.buttons.map((b, n) => (b.className === 'changed' || b.className === 'failed' ? n : -1)).filter((n) => n >= 0); }

    show(n, scroll) {
      if (n < 0 || n >= this.buttons.length) return;
      this.current = n;
      this.buttons.forEach((button, k) => button.setAttribute('aria-current', String(k === n)));
      const list = this.section.querySelector('.steps');
      const item = this.buttons[n];
      const [top, bottom] = [item.offsetTop - list.offsetTop, item.offsetTop - list.offsetTop + item.offsetHeight];
      if (top < list.scrollTop) list.scrollTop = top; else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
      this.draw();
      if (scroll) this.section.scrollIntoView();
    }

    draw() {
      const n = this.current;
      this.stage.replaceChildren(this.toolbar(n));
      const box = this.stage.appendChild(make('div', 'code-box'));
      const step = this.texts.steps[n];
      if (step.cut) {
        const left = step.hunks.left ? `, ${step.hunks.left} changes more are left out` : '';
        const what = n === 0 ? 'its beginning is shown' : 'what the pass changed is shown';
        box.append(make('div', 'cut', `This text is too large for a page (${(step.cut / 1048576).toFixed(1)} MiB): ${what}${left}. --dump-dir writes all of it.`));
      }
      if (this.mode === 'text' || n === 0) this.drawText(box, n);
      else this.drawDiff(box, n, this.mode === 'split');
      const keys = this.stage.appendChild(make('p', 'keys'));
      for (const [key, text] of [['j', ' / '], ['k', ' next, previous pass   '], ['n', ' / '], ['p', ' that changed something   '], [']', ' / '], ['[', ' next, previous change   '], ['m', ' view   '], ['f', ' fold']]) keys.append(make('kbd', '', key), text);
    }

    toolbar(n) {
      const bar = make('div', 'bar-top');
      const name = this.buttons[n].querySelector('.name').textContent;
      bar.append(make('h3', '', n === 0 ? 'as parsed' : `after ${this.buttons[n].querySelector('.number').textContent}. ${name}`));
      bar.append(make('span', 'sum', this.buttons[n].querySelector('.delta').textContent), make('span', 'gap'));
      const fold = bar.appendChild(make('button', '', this.fold ? 'show all lines' : 'fold what stays'));
      fold.type = 'button';
      fold.hidden = this.mode === 'text' || n === 0;
      fold.addEventListener('click', () => this.toggleFold());
      const modes = bar.appendChild(make('span', 'modes'));
      for (const [mode, title] of [['split', 'side by side'], ['unified', 'unified'], ['text', 'whole']]) {
        const button = modes.appendChild(make('button', '', title));
        button.type = 'button';
        button.setAttribute('aria-pressed', String(this.mode === mode));
        button.addEventListener('click', () => this.setMode(mode));
      }
      return bar;
    }

    setMode(mode) { this.mode = mode; this.draw(); }
    toggleFold() { this.fold = !this.fold; this.draw(); }

    drawText(box, n) {
      const text = this.texts.text(n);
      const parts = this.texts.parts(n);
      if (!text) {
        const lines = parts.flatMap((part) => part.new || []);
        this.fill(box, 'rows text', lines.length, (rows, k) => this.line(rows, k, lines[k], 'l', null));
        return;
      }
      // What the pass made is marked in the whole text, too.
      const made = new Map();
      for (const part of parts) {
        if (part.same || part.gap) continue;
        part.new.forEach((_, k) => made.set(part.at[1] + k, null));
        for (const [, come, , marks] of part.marks) made.set(part.at[1] + come, marks);
      }
      this.fill(box, 'rows text', text.length, (rows, k) => this.line(rows, k, text[k], made.has(k) ? 'l add' : 'l', made.get(k)));
    }

    line(rows, k, id, name, marks) {
      rows.append(make('span', 'n', k + 1));
      put(rows.appendChild(make('span', name)), this.texts.lines[id], 'tir', marks);
    }

    /** Adds `count` rows, a part now and the others when they are asked for, so that a large text does not stop the page. */
    fill(box, name, count, row) {
      const rows = box.appendChild(make('div', name));
      const limit = 6000;
      const some = (from) => {
        const to = Math.min(count, from + limit);
        for (let k = from; k < to; k += 1) row(rows, k);
        if (to < count) {
          const more = rows.appendChild(make('button', 'fold', `${count - to} lines more`));
          more.addEventListener('click', () => { more.remove(); some(to); });
        }
      };
      some(0);
      if (count === 0) box.append(make('div', 'empty', 'nothing'));
    }

    drawDiff(box, n, split) {
      const parts = this.texts.parts(n);
      if (!parts.some((part) => !part.same && !part.gap)) {
        const step = this.texts.steps[n];
        const why = step.same ? 'This pass changed nothing.' : 'This pass changed nothing that the text shows.';
        box.append(make('div', 'empty', step.hunks && step.hunks.left ? 'What this pass changed is too large for a page.' : why));
        return;
      }
      const rows = box.appendChild(make('div', split ? 'rows split' : 'rows one'));
      parts.forEach((part, k) => {
        if (part.gap) { rows.append(make('div', 'fold', `${part.gap} lines`)); return; }
        if (!part.same) { this.change(rows, part, split); return; }
        const [first, last] = [k === 0, k === parts.length - 1];
        const [head, tail] = [first ? 0 : CONTEXT, last ? 0 : CONTEXT];
        if (!this.fold || part.old.length <= head + tail + 2) { this.same(rows, part, 0, part.old.length, split); return; }
        this.same(rows, part, 0, head, split);
        this.folded(rows, part, head, part.old.length - tail, split);
        this.same(rows, part, part.old.length - tail, part.old.length, split);
      });
    }

    folded(rows, part, from, to, split) {
      const button = rows.appendChild(make('button', 'fold', `${to - from} lines that stay`));
      button.type = 'button';
      button.addEventListener('click', () => {
        const holder = make('div', rows.className);
        const end = Math.min(to, from + CHUNK);
        this.same(holder, part, from, end, split);
        if (end < to) this.folded(holder, part, end, to, split);
        button.replaceWith(...holder.childNodes);
      });
    }

    same(rows, part, from, to, split) {
      for (let k = from; k < to; k += 1) {
        const [i, j] = [part.at[0] + k + 1, part.at[1] + k + 1];
        const text = this.texts.lines[part.new[k]];
        const code = () => { const line = make('span', 'l'); put(line, text, 'tir', null); return line; };
        if (split) rows.append(make('span', 'n', i), code(), make('span', 'n', j), code());
        else rows.append(make('span', 'n', i), make('span', 'n', j), make('span', 's', ' '), code());
      }
    }

    change(rows, part, split) {
      const { lines } = this.texts;
      let [i, j, first] = [0, 0, true];
      const code = (name, id, marks) => {
        const line = make('span', `l ${name}`);
        put(line, lines[id], 'tir', marks);
        return line;
      };
      const row = (gone, come, goneMarks, comeMarks) => {
        const start = rows.childNodes.length;
        if (split) {
          if (gone === null) rows.append(make('span', 'n void'), make('span', 'l void'));
          else rows.append(make('span', 'n del', part.at[0] + gone + 1), code('del', part.old[gone], goneMarks));
          if (come === null) rows.append(make('span', 'n void'), make('span', 'l void'));
          else rows.append(make('span', 'n add', part.at[1] + come + 1), code('add', part.new[come], comeMarks));
        } else {
          if (gone !== null) rows.append(make('span', 'n del', part.at[0] + gone + 1), make('span', 'n del'), make('span', 's del', '\u2212'), code('del', part.old[gone], goneMarks));
          if (come !== null) rows.append(make('span', 'n add'), make('span', 'n add', part.at[1] + come + 1), make('span', 's add', '+'), code('add', part.new[come], comeMarks));
        }
        if (first) rows.childNodes[start].dataset.change = '';
        first = false;
      };
      for (const [gone, come, goneMarks, comeMarks] of [...part.marks, [part.old.length, part.new.length]]) {
        while (i < gone && !split) { row(i, null); i += 1; }
        while (j < come && !split) { row(null, j); j += 1; }
        while (i < gone || j < come) { row(i < gone ? i : null, j < come ? j : null); if (i < gone) i += 1; if (j < come) j += 1; }
        if (goneMarks) row(gone, come, goneMarks, comeMarks);
        i = gone + 1; j = come + 1;
      }
    }

    jump(forward) {
      const marks = [...this.stage.querySelectorAll('[data-change]')];
      const here = 70;
      const tops = marks.map((mark) => mark.getBoundingClientRect().top);
      const next = forward ? marks.find((_, k) => tops[k] > here + 2) : marks.filter((_, k) => tops[k] < here - 2).pop();
      if (next) scrollBy(0, next.getBoundingClientRect().top - here);
    }

    key(key) {
      const changed = this.changed;
      if (key === 'j') this.show(this.current + 1);
      else if (key === 'k') this.show(this.current - 1);
      else if (key === 'n') this.show(changed.find((n) => n > this.current) ?? -1);
      else if (key === 'p') this.show(changed.filter((n) => n < this.current).pop() ?? -1);
      else if (key === 'm') this.setMode({ split: 'unified', unified: 'text', text: 'split' }[this.mode]);
      else if (key === 'f') this.toggleFold();
      else if (key === ']' || key === '[') this.jump(key === ']');
    }
  }

  for (const pre of document.querySelectorAll('pre[data-language]')) {
    const text = pre.textContent;
    if (text.length > 2000000) continue;
    const parts = document.createDocumentFragment();
    text.split('\n').forEach((line, n) => { if (n) parts.append('\n'); put(parts, line, pre.dataset.language, null); });
    pre.replaceChildren(parts);
  }

  const { runs } = JSON.parse(document.getElementById('data').textContent);
  const viewers = new Map();
  for (const article of document.querySelectorAll('article.run')) {
    const section = article.querySelector('.viewer');
    if (section) viewers.set(article, new Viewer(section, runs[Number(article.dataset.run)]));
  }
  let active = viewers.values().next().value;
  for (const [article, viewer] of viewers) {
    const start = () => viewer.show(viewer.changed[0] ?? 0);
    // A page of many texts draws those that are looked at.
    if (viewers.size === 1) start();
    else new IntersectionObserver((seen, observer) => {
      if (seen.some((one) => one.isIntersecting)) { observer.disconnect(); start(); }
    }).observe(viewer.section);
    article.addEventListener('pointerdown', () => { active = viewer; });
    article.addEventListener('click', (event) => {
      const link = event.target.closest('a[href^="#pass-"]');
      if (!link) return;
      const number = link.getAttribute('href').slice(6);
      const n = viewer.buttons.findIndex((button) => button.querySelector('.number').textContent === number);
      if (n >= 0) { event.preventDefault(); active = viewer; viewer.show(n, true); history.replaceState(null, '', link.getAttribute('href')); }
    });
  }
  const wanted = /^#pass-(\d+)$/.exec(location.hash);
  if (wanted && active) {
    const n = active.buttons.findIndex((button) => button.querySelector('.number').textContent === wanted[1]);
    if (n >= 0) active.show(n, true);
  }
  addEventListener('keydown', (event) => {
    if (!active || event.ctrlKey || event.metaKey || event.altKey || /^(input|textarea|select)$/i.test(event.target.tagName)) return;
    if ('jknpmf[]'.includes(event.key) && event.key.length === 1) { event.preventDefault(); active.key(event.key); }
  });
  const theme = document.querySelector('[data-theme-button]');
  if (theme) theme.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });
  root.dataset.ready = String(viewers.size);
})();
