// Links that hold the text.

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

/** Loads what the fragment holds: `#text=PACKED`, or `#example=NAME` with `case`, `defines`, `pipeline`, `target`, `tab`. What is no link of
 * ours is left alone. */
async function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  try {
    if (asked.has('text')) { const held = JSON.parse(await unpacked(asked.get('text'))); if (typeof held.text === 'string') { await load(held); return true; } }
    if (asked.has('example')) {
      const more = {};
      for (const [key, field] of [['case', 'wanted'], ['defines', 'defines'], ['pipeline', 'pipeline'], ['target', 'target'], ['tab', 'tab']]) {
        if (asked.has(key)) more[field] = asked.get(key);
      }
      return choose(asked.get('example'), more);
    }
  } catch { status('the link cannot be read', true); }
  return false;
}
