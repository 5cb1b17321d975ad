// The page of the playground. Scripts run in a worker, which is ended when one takes too long: then a new worker is started.
const maxSeconds = 10;
const worked = new URL("worker.js", document.currentScript.src);
const get = id => document.getElementById(id);
const examples = JSON.parse(get("examples").textContent);
let files, worker, loaded, timer;

examples.forEach(({title}, i) => get("example").add(new Option(title, i)));
get("example").addEventListener("change", () => choose(examples[get("example").value]));
get("file").addEventListener("change", show);
get("text").addEventListener("input", () => {
  files[get("file").value] = get("text").value;
  number();
});
get("text").addEventListener("scroll", () => { get("lines").scrollTop = get("text").scrollTop; });
get("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
get("run").addEventListener("click", run);
get("stop").addEventListener("click", () => end("Stopped."));
get("share").addEventListener("click", () => {
  const {controller, crd, parent, children} = files;
  location.hash = encodeURIComponent(JSON.stringify({controller, crd, parent, children}));
  say("The address has the files now: copy it to share them.");
});
choose(shared() ?? examples[0]);

// shared returns the files in the address, if it has any.
function shared() {
  try {
    const {controller = "", crd = "", parent = "", children = ""} = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return {controller, crd, parent, children};
  } catch {
    return undefined;
  }
}

function choose(example) {
  files = {...example};
  show();
}

function show() {
  get("text").value = files[get("file").value];
  number();
}

function number() {
  const n = get("text").value.split("\n").length;
  get("lines").textContent = Array.from({length: n}, (_, i) => i + 1).join("\n");
  get("lines").scrollTop = get("text").scrollTop;
}

function say(text) { get("state").textContent = text; }

function run() {
  if (get("run").disabled) return;
  get("run").disabled = true;
  get("stop").disabled = false;
  if (loaded) return call();
  say("Loading the program …");
  worker = new Worker(worked);
  worker.onmessage = ({data}) => {
    if (data.ready) {
      loaded = true;
      call();
    } else if (data.failed) {
      end(data.failed);
    } else {
      print(data.result);
    }
  };
  worker.onerror = event => end(`The program ended: ${event.message}`);
}

function call() {
  const {controller, crd, parent, children} = files;
  say("Running …");
  timer = setTimeout(() => end(`Stopped: the script ran for more than ${maxSeconds} seconds. Look for a loop that does not end.`), maxSeconds * 1000);
  worker.postMessage({controller, crd, parent, children});
}

// end ends the worker, with what it runs.
function end(text) {
  worker?.terminate();
  worker = loaded = undefined;
  print({answer: "", error: text});
  say(text);
}

function print({answer, error, log = "", warnings}) {
  clearTimeout(timer);
  get("answer").textContent = answer;
  get("answer").hidden = Boolean(error);
  get("error").textContent = error;
  get("error").hidden = !error;
  get("log").textContent = [...(warnings ?? []).map(text => `warning: ${text}`), log].join("\n").trim();
  say(error ? "The call failed." : "Done.");
  get("run").disabled = false;
  get("stop").disabled = true;
}
