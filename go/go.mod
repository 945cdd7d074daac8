module credfresh

go 1.19
