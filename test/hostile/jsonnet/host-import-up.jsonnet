// class: host
// attacks: a file outside
// want: Module
{
  sync(parent, children)::
    { v: importstr '../../../../etc/passwd' },
}
