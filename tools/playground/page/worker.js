'use strict';
// One instance of the compiler. A request that traps ends it: the page starts another.
let exports = null;
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

function call(request) {
  const bytes = encoder.encode(JSON.stringify(request));
  const at = exports.tc_request(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const n = exports.tc_answer();
  return JSON.parse(decoder.decode(new Uint8Array(exports.memory.buffer, exports.tc_answer_at(), n)));
}

onmessage = async ({ data }) => {
  const { id, module, request } = data;
  try {
    if (module) {
      exports = (await WebAssembly.instantiate(module, { host: { now: () => performance.now() } })).exports;
      postMessage({ id, answer: call({ call: 'options' }) });
      return;
    }
    const begin = performance.now();
    const answer = call(request);
    postMessage({ id, answer, time: performance.now() - begin });
  } catch (error) {
    postMessage({ id, trap: String(error && error.message || error) });
  }
};
