package spec

// Extensions returns the fields of the spec that Metacontroller 4.17 does not have, and with which the objects that it writes belong to other
// owners, or are others, than Metacontroller expects. They are to be removed before a server is replaced by Metacontroller.
func (d *Declaration) Extensions() []string {
	var fields []string
	for i, child := range d.Children {
		if child.Plain {
			fields = append(fields, d.Field.at(i)+".ownerReference")
		}
		if child.Adopts != "" {
			fields = append(fields, d.Field.at(i)+".adoptionPolicy")
		}
	}
	return fields
}
