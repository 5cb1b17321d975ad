package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// conditions returns the table of the types of conditions, from the constants of package v1alpha1 that begin with Condition.
func conditions() (string, error) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "metascript/controller/api/v1alpha1").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "conditions.go"), nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var rows strings.Builder
	rows.WriteString("| condition | meaning |\n|---|---|\n")
	ast.Inspect(file, func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(constant.Names[0].Name, "Condition") || constant.Doc == nil {
			return true
		}
		value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
		if err == nil {
			meaning := strings.TrimPrefix(strings.Join(strings.Fields(constant.Doc.Text()), " "), constant.Names[0].Name+" ")
			fmt.Fprintf(&rows, "| `%s` | %s |\n", value, meaning)
		}
		return true
	})
	return rows.String(), nil
}
