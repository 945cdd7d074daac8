foreach(subject path file generation single profile format watch state disk kill)
    cfr_unit_test(files_${subject} cfr_files)
endforeach()
