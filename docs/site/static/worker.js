// Runs scripts, in a thread that the page can end.
importScripts("wasm_exec.js");

const ready = new Promise(resolve => { self.metascriptReady = resolve; });

async function start() {
  const file = await fetch("playground.wasm.gz");
  if (!file.ok) throw new Error(`playground.wasm.gz cannot be loaded: ${file.status}`);
  let bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x1f) { // not yet decompressed by the browser
    bytes = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }
  const go = new Go();
  const {instance} = await WebAssembly.instantiate(bytes, go.importObject);
  go.run(instance);
  await ready;
}

start().then(() => postMessage({ready: true}), error => postMessage({failed: String(error)}));
onmessage = ({data}) => metascriptRun(JSON.stringify(data), text => postMessage({result: JSON.parse(text)}));
