// Prints what the package semver of npm answers, one JSON array [function, arguments, answer] in a line. The answer to a call that fails is
// missing. "make references" writes it to semver.jsonl.
const semver = require(require.resolve("semver", {paths: [require("path").join(process.execPath, "../../lib/node_modules/npm")]}));

const versions = ["0.0.0", "0.0.3", "0.1.0", "0.2.9", "1.0.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.1", "1.0.0+build", "v1.2.3", "1.2.3-0", "1.2.4", "1.9.0", "1.10.0", "1.29.3-gke.100", "2.0.0-rc.1", "2.0.0", "10.20.30"];
const wrong = ["", "1", "1.2", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3.4", " 1.2.3 ", "a", "1.2.x", "=1.2.3", "1.2.3-é", "-1.2.3"];
const numbers = ["1.2.3", "0.2.3", "0.0.3", "1.2", "1", "0", "1.2.x", "1.x", "2.0.0-rc.1"];
const constraints = [">=1.2 <2", ">=1.0.0, <1.10", "^1.4 || ~2.1", "~1.9 || 0.0.x", ">1.0.0-alpha <=1.0.0", "1.2.3 2.0.0"];
for (const operator of ["", "=", "!=", "<", "<=", ">", ">=", "~", "^"]) {
  for (const number of numbers) constraints.push(operator + number);
}

function print(name, args, call) {
  let answer;
  try {
    answer = call();
  } catch {
    answer = null;
  }
  console.log(JSON.stringify(answer === null || answer === undefined ? [name, args] : [name, args, answer]));
}

for (const v of versions.concat(wrong)) print("semver.valid", [v], () => semver.valid(v) !== null);
for (const a of versions) {
  const {major, minor, patch, prerelease, build} = semver.parse(a);
  print("semver.parse", [a], () => ({major, minor, patch, prerelease: prerelease.join("."), build: build.join(".")}));
  for (const b of versions) print("semver.compare", [a, b], () => semver.compare(a, b));
}
for (const c of constraints) {
  for (const v of versions) {
    const not = /^!=(.*)$/.exec(c); // npm has no !=
    print("semver.satisfies", [v, c], () => {
      const range = new semver.Range(not ? not[1] : c.replaceAll(",", " "), {includePrerelease: true});
      return range.test(v) !== Boolean(not);
    });
  }
}
