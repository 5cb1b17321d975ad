// class: host
// attacks: code outside
// want: Module
{
  sync(parent, children)::
    { v: import '/etc/passwd' },
}
