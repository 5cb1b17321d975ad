package lib

// functions are all functions of the library. Those of a group are together.
var functions = []*Function{
	{Name: "yaml.encode", Params: params("value", Any), Result: String, run: encodeYAML},
	{Name: "yaml.decode", Params: params("text", String), Result: Any, run: decodeYAML},
	{Name: "yaml.decodeAll", Params: params("text", String), Result: List, run: decodeAllYAML},

	{Name: "json.encode", Params: append(params("value", Any), Param{Name: "indent", Type: Number, Optional: true}), Result: String, run: encodeJSON},
	{Name: "json.decode", Params: params("text", String), Result: Any, run: decodeJSON},

	{Name: "base64.encode", Params: params("text", String), Result: String, run: encodeBase64},
	{Name: "base64.decode", Params: params("text", String), Result: String, run: decodeBase64},

	{Name: "semver.parse", Params: params("version", String), Result: Object, run: parseSemver},
	{Name: "semver.valid", Params: params("version", Any), Result: Boolean, run: validSemver},
	{Name: "semver.compare", Params: params("a", String, "b", String), Result: Number, run: compareSemver},
	{Name: "semver.satisfies", Params: params("version", String, "constraint", String), Result: Boolean, run: satisfiesSemver},

	{Name: "quantity.parse", Params: params("quantity", Quantity), Result: Number, run: parseQuantity},
	{Name: "quantity.milli", Params: params("quantity", Quantity), Result: Number, run: milliQuantity},
	{Name: "quantity.compare", Params: params("a", Quantity, "b", Quantity), Result: Number, run: compareQuantities},
	{Name: "quantity.add", Params: params("a", Quantity, "b", Quantity), Result: String, run: addQuantities},
	{Name: "quantity.format", Params: append(params("quantity", Quantity), Param{Name: "style", Type: String, Optional: true}), Result: String, run: formatQuantity},

	{Name: "labels.matches", Params: nullable("selector", Object, "labels", Object), Result: Boolean, run: matchesLabels},

	{Name: "conditions.get", Params: append(nullable("conditions", List), params("type", String)...), Result: Any, run: getCondition},
	{Name: "conditions.set", Params: append(nullable("conditions", List), params("condition", Object)...), Result: List, run: setCondition},
	{Name: "conditions.isTrue", Params: append(nullable("conditions", List), params("type", String)...), Result: Boolean, run: isTrueCondition},

	{Name: "random.password", Params: append(ofSecret(), optional("length", Number)...), Result: String, run: passwordValue},
	{Name: "random.token", Params: append(ofSecret(), optional("length", Number, "alphabet", String)...), Result: String, run: tokenValue},
	{Name: "random.choice", Params: append(params("name", String, "list", List), optional("current", Any)...), Result: Any, run: chosen},

	{Name: "sha256", Params: params("text", String), Result: String, run: sha256Text},
	{Name: "hash", Params: params("value", Any), Result: String, run: hashValue},
	{Name: "merge", Params: params("target", Any, "patch", Any), Result: Any, run: mergeValues},
}

// ofSecret are the parameters of a random value that stands in a Secret.
func ofSecret() []Param {
	return []Param{{Name: "name", Type: String}, {Name: "secret", Type: Object, Nullable: true}, {Name: "key", Type: String}}
}

// optional is like params, for parameters that may be left out.
func optional(pairs ...any) []Param {
	out := params(pairs...)
	for i := range out {
		out[i].Optional = true
	}
	return out
}

// params returns parameters; pairs has the name and the type of each.
func params(pairs ...any) []Param {
	var out []Param
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Param{Name: pairs[i].(string), Type: pairs[i+1].(Type)})
	}
	return out
}

// nullable is like params, for parameters that may be null, which means an empty object or list.
func nullable(pairs ...any) []Param {
	out := params(pairs...)
	for i := range out {
		out[i].Nullable = true
	}
	return out
}
