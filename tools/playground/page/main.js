// What happens when.

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
  $('target').value = target || compiler.options.target;
  state.wanted = wanted || '';
  state.step = -1;
  state.block = { launch: 0, block: 0, buffer: '' };
  draw();
  return open(Object.hasOwn(views, tab || '') ? tab : state.tab);
}

const examples = JSON.parse($('examples').textContent);

function choose(name, more) {
  const example = examples.flatMap(({ list }) => list).find((one) => one.name === name);
  if (!example) return false;
  $('example').value = name;
  load({ wanted: example.case, ...example, ...more });
  return true;
}

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

// In a page of the documentation there is less room, and the text is that of the page.
if (location.search === '?embed') root.dataset.embed = '';

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
