// class: bypass
// attacks: std by super
// want: Memory|error
{
  sync(parent, children)::
    { n: (std { y: super.range(1, 1000000000) }).y },
}
