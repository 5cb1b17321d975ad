// class: host
// attacks: a file without end
// want: Module
{
  sync(parent, children)::
    { v: importbin '/dev/zero' },
}
