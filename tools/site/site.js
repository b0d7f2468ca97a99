// Colours for programs, and the playground below the block that it runs.
(() => {
  const NAMES = { k: 'hljs-keyword', t: 'hljs-type', d: 'hljs-number', q: 'hljs-string', c: 'hljs-comment', y: 'hljs-title', o: 'hljs-built_in' };

  /** Colours the text of a block line by line. */
  function colour(block) {
    const out = document.createDocumentFragment();
    for (const line of block.textContent.split(/(?<=\n)/)) {
      let at = 0;
      for (const [from, to, name] of classes(line.replace(/\n$/, ''), 'tir')) {
        const span = document.createElement('span');
        span.className = NAMES[name];
        span.textContent = line.slice(from, to);
        out.append(line.slice(at, from), span);
        at = to;
      }
      out.append(line.slice(at));
    }
    block.replaceChildren(out);
  }
  document.querySelectorAll('code.language-tir').forEach(colour);

  /** Opens the playground below what a link stands in, or closes it again. The page of the playground is loaded when it is asked for. */
  function toggle(link, button) {
    const block = link.closest('table') || link.closest('p, li') || link;
    if (button.frame) {
      button.frame.remove();
      button.frame = null;
    } else {
      const frame = document.createElement('iframe');
      frame.className = 'playground';
      frame.title = 'playground';
      frame.src = link.href.replace('#', '?embed#');
      block.after(frame);
      button.frame = frame;
    }
    button.textContent = button.frame ? 'close' : 'run here';
  }
  for (const link of document.querySelectorAll('main a[href*="playground/index.html#"]')) {
    link.target = '_blank';
    const button = document.createElement('button');
    button.className = 'here';
    button.textContent = 'run here';
    button.addEventListener('click', () => toggle(link, button));
    link.after(button);
  }
})();
