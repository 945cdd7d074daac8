// SPDX-License-Identifier: MIT

package credfresh

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	bytesMax = 4 << 20 // of all files of a snapshot
	triesMax = 10      // reads of a directory that keeps changing
)

// Snapshot is all files of one generation. It must not be changed: several goroutines may have it.
type Snapshot struct {
	Files      map[string][]byte // by the path below the directory, such as "token" or "tokens/vault"
	Generation uint64            // the number that credfresh gave it, for Acknowledge; the kubelet chooses it at random; 0 for none
	Time       time.Time         // when it was written

	target string // of ..data
	info   fs.FileInfo
}

// read returns a snapshot of dir, or last if that is still the current one.
//
// A publisher swaps ..data and later removes the old version, file by file. So all files are read below the directory that ..data
// names at first, and they count only if ..data still names it afterwards.
func read(dir string, names []string, last *Snapshot) (*Snapshot, error) {
	for try := 0; ; try++ {
		target, info, err := current(dir)
		if target != "" && err != nil && try < triesMax {
			continue // removed since the link was read
		}
		if err != nil {
			return nil, err
		}
		if last != nil && last.is(target, info) {
			return last, nil
		}
		files, err := readFiles(filepath.Join(dir, target), names)
		after, infoAfter, errAfter := current(dir)
		if errAfter == nil && after == target && os.SameFile(info, infoAfter) {
			if err != nil {
				return nil, err
			}
			return &Snapshot{files, generation(target), info.ModTime(), target, info}, nil
		}
		if try == triesMax {
			return nil, fmt.Errorf("%s changes while it is read", dir)
		}
	}
}

func (s *Snapshot) is(target string, info fs.FileInfo) bool {
	return s.target == target && os.SameFile(s.info, info) && s.info.ModTime().Equal(info.ModTime())
}

// current returns what ..data names.
func current(dir string) (string, fs.FileInfo, error) {
	link := filepath.Join(dir, "..data")
	target, err := os.Readlink(link)
	if os.IsNotExist(err) {
		if _, missing := os.Stat(dir); missing == nil {
			return "", nil, fmt.Errorf("%s has no link ..data: nothing is published yet, or it is mounted with subPath, which never "+
				"changes: mount the whole volume", dir)
		}
	}
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(filepath.Join(dir, target))
	return target, info, err
}

// readFiles returns the regular files of one version, at most bytesMax of them.
func readFiles(version string, names []string) (map[string][]byte, error) {
	files, left := map[string][]byte{}, int64(bytesMax)
	add := func(path, name string) error {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if left -= info.Size(); left < 0 {
			return fmt.Errorf("%s: the files are larger than %d bytes; name those that are needed", version, bytesMax)
		}
		bytes, err := os.ReadFile(path)
		if err == nil {
			files[name] = bytes
		}
		return err
	}
	for _, name := range names {
		if err := add(filepath.Join(version, name), name); err != nil {
			return nil, err
		}
		if files[name] == nil {
			return nil, fmt.Errorf("%s is not a regular file", filepath.Join(version, name))
		}
	}
	if len(names) != 0 {
		return files, nil
	}
	err := filepath.WalkDir(version, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(version, path)
		if err != nil {
			return err
		}
		return add(path, filepath.ToSlash(name))
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no file", version)
	}
	return files, err
}

// generation is the number after the last dot of a version's name: ..2026_11_20_18_32_53.000000007 is 7.
func generation(target string) uint64 {
	if !strings.HasPrefix(target, "..") {
		return 0
	}
	number, _ := strconv.ParseUint(target[strings.LastIndex(target, ".")+1:], 10, 64)
	return number
}

// Acknowledge tells credfresh that a generation is in use, by writing its number to the file path, which the agent's
// configuration names (acknowledge: {file: PATH}). Call it when the credential is in use, not when it was read.
func Acknowledge(generation uint64, path string) error {
	if generation == 0 {
		return fmt.Errorf("cannot acknowledge in %s: there is no generation 0", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".credfresh-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // after the rename there is none
	_, err = fmt.Fprintln(file, generation)
	if err == nil {
		err = file.Chmod(0o644) // the agent may be another user
	}
	if err == nil {
		err = file.Sync() // a loss of power after the rename must not leave an empty file, which means the current generation
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}
