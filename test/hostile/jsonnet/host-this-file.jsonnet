// class: host
// attacks: the name of the file is no path of the host's
// want: answer
{
  sync(parent, children)::
    assert !std.startsWith(std.thisFile, '/') : std.thisFile; {},
}
