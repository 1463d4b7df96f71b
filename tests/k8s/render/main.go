// SPDX-License-Identifier: Apache-2.0
// Render prints what `kustomize build` and `helm template` would: Kubernetes objects, in YAML.
//
//	render kustomize FOLDER
//	render helm CHART [VALUES_FILE...]
//
// It is kustomize's and Helm's own code, as libraries: a tenth of what their programs take to build.
// A value that the chart's templates name and that nobody gives is a mistake.
package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sort"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func kustomize(folder string) (string, error) {
	kustomizer := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	objects, err := kustomizer.Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return "", err
	}
	text, err := objects.AsYaml()
	return string(text), err
}

// Values of later files win, as with `helm template -f A -f B`.
func readValues(files []string) (map[string]interface{}, error) {
	values := map[string]interface{}{}
	for _, file := range files {
		own, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, err
		}
		values = chartutil.CoalesceTables(own, values)
	}
	return values, nil
}

func helm(folder string, files []string) (string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return "", err
	}
	if err := chart.Validate(); err != nil {
		return "", err
	}
	values, err := readValues(files)
	if err != nil {
		return "", err
	}
	release := chartutil.ReleaseOptions{
		Name: "hatrpcd", Namespace: "hatrpc-system", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(rendered))
	for name := range rendered {
		if path.Base(name) != "NOTES.txt" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	text := ""
	for _, name := range names {
		text += "---\n# " + name + "\n" + rendered[name] + "\n"
	}
	return text, nil
}

func run(words []string) (string, error) {
	switch {
	case len(words) == 2 && words[0] == "kustomize":
		return kustomize(words[1])
	case len(words) >= 2 && words[0] == "helm":
		return helm(words[1], words[2:])
	}
	return "", errors.New("usage: render kustomize FOLDER | render helm CHART [VALUES_FILE...]")
}

func main() {
	text, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}
