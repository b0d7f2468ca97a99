// What the page holds, and how it asks the compiler.

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

/** The pipeline of the field; where that is empty, the usual one of the case that is chosen. */
function pipeline() {
  const typed = $('pipeline').value.trim();
  return typed || usual();
}

function usual() {
  const chosen = state.cases[$('case').selectedIndex];
  return chosen ? chosen.pipeline : 'schedule,tir.func(simplify)';
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
  if (answer.panicked_at) for (const one of answer.diagnostics) one.text += `\n = note: at ${answer.panicked_at}`;
  return answer;
}

/** Says that an instance is gone. */
function lost(why) {
  root.dataset.ended = why;
  status(why, true);
  view.replaceChildren(make('p', 'note bad', `${why}. Your text is as it was; the compiler was loaded again.`));
}
