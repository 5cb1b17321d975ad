// The search: all words must be in a page. The index is loaded when the field is used for the first time.
const query = document.getElementById("query"), results = document.getElementById("results");
const root = document.getElementById("index").href;
let pages;

query.addEventListener("focus", load);
query.addEventListener("input", search);
query.form.addEventListener("submit", event => {
  event.preventDefault();
  search();
});
query.form.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  results.replaceChildren();
  query.focus();
});

function load() {
  pages ??= fetch(root).then(response => response.json());
  return pages;
}

async function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(word => word);
  const found = words.length ? (await load()).map(page => score(page, words)).filter(page => page.score > 0) : [];
  found.sort((a, b) => b.score - a.score);
  results.replaceChildren();
  if (!words.length) return;
  if (!found.length) {
    results.textContent = "No page has these words.";
    return;
  }
  const list = document.createElement("ul");
  for (const page of found.slice(0, 8)) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = new URL(page.page, root).href;
    link.textContent = page.title;
    item.append(link, document.createElement("br"), page.excerpt);
    list.append(item);
  }
  results.append(list);
}

// A page's score is the number of times that it has the words; a word in the title counts 100 times. It is 0 if a word is missing.
function score({title, page, text}, words) {
  const lower = text.toLowerCase(), name = title.toLowerCase();
  const counts = words.map(word => lower.split(word).length - 1 + (name.includes(word) ? 100 : 0));
  const at = Math.max(0, lower.indexOf(words[0]) - 40);
  return {
    title, page, excerpt: "…" + text.slice(at, at + 140).replace(/\s+/g, " ") + "…",
    score: counts.includes(0) ? 0 : counts.reduce((a, b) => a + b),
  };
}
