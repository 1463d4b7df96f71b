struct slist { 1: i32 senum, 2: i32 cpp_namespace }
struct senum { 1: slist php_namespace }
service V { slist java_package(1: senum py_module) }
