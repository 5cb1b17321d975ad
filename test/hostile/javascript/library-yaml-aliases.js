// class: memory
// attacks: a text of YAML whose aliases stand for 4^19 values
// want: Memory|Steps|Timeout
const {yaml} = require("metascript");
function sync() {
  return {v: yaml.decode("a0: &a0 [x, x]\na1: &a1 [*a0, *a0, *a0, *a0]\na2: &a2 [*a1, *a1, *a1, *a1]\na3: &a3 [*a2, *a2, *a2, *a2]\na4: &a4 [*a3, *a3, *a3, *a3]\na5: &a5 [*a4, *a4, *a4, *a4]\na6: &a6 [*a5, *a5, *a5, *a5]\na7: &a7 [*a6, *a6, *a6, *a6]\na8: &a8 [*a7, *a7, *a7, *a7]\na9: &a9 [*a8, *a8, *a8, *a8]\na10: &a10 [*a9, *a9, *a9, *a9]\na11: &a11 [*a10, *a10, *a10, *a10]\na12: &a12 [*a11, *a11, *a11, *a11]\na13: &a13 [*a12, *a12, *a12, *a12]\na14: &a14 [*a13, *a13, *a13, *a13]\na15: &a15 [*a14, *a14, *a14, *a14]\na16: &a16 [*a15, *a15, *a15, *a15]\na17: &a17 [*a16, *a16, *a16, *a16]\na18: &a18 [*a17, *a17, *a17, *a17]\na19: &a19 [*a18, *a18, *a18, *a18]\n")};
}
