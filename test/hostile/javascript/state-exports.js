// class: state
// attacks: a property of the exports
// want: answer
exports.sync = function () {
  if (exports.seen) throw new Error('it is still there');
  exports.seen = 1;
  return {};
};
