// class: output
// attacks: an answer that is no data
// want: Result
{
  sync(parent, children)::
    { f: function(x) x },
}
