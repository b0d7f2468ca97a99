// The compiler, in a worker: one instance at a time, made again where it was stopped or trapped.

const compiler = {
  module: null, worker: null, waiting: new Map(), next: 1, options: null, restarts: 0,

  async load() {
    const packed = await (await fetch('data:application/octet-stream;base64,' + $('module').textContent.trim())).blob();
    const bytes = new Response(packed.stream().pipeThrough(new DecompressionStream('gzip')), { headers: { 'content-type': 'application/wasm' } });
    this.module = await WebAssembly.compileStreaming(bytes);
    this.url = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
    this.options = await this.start();
  },

  /** Starts a worker with an instance of its own; the module is compiled once. */
  start() {
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.told(data);
    this.worker.onerror = (event) => this.ended(`the worker failed: ${event.message}`);
    return this.send({ module: this.module }).then(({ answer }) => answer);
  },

  send(message) {
    const id = this.next;
    this.next += 1;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.worker.postMessage({ id, ...message });
    });
  },

  told({ id, answer, trap, time }) {
    if (trap !== undefined) { this.ended(`the compiler ended: ${trap}`); return; }
    const resolve = this.waiting.get(id);
    this.waiting.delete(id);
    if (resolve) resolve({ answer, time });
  },

  /** Gives up the instance and all that was asked of it, and starts another. The text is the page's, and stays. */
  ended(why) {
    this.worker.terminate();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    this.restarts += 1;
    root.dataset.restarts = String(this.restarts);
    for (const resolve of waiting) resolve({ ended: why });
    this.start();
  },

  ask(request) { return this.send({ request }); },
};
