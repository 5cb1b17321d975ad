// class: bypass
// attacks: the library's functions as constructors and with another this
// want: error|answer
const {hash, yaml} = require("metascript");
function sync() {
  return {v: [yaml.decode.call(null, "1"), Reflect.apply(hash, {}, [1]), hash.bind(1, 2)(), typeof new hash(1)]};
}
