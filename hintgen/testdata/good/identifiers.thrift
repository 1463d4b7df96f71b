namespace cpp hint
typedef i32 hint
struct c_hint { 1: hint hint, 2: i32 s_hint, 3: i32 uuid_ }
enum s_hint { hint = 1 }
const map<string, i32> hints = { "hint" : 1 }
const s_hint which = s_hint.hint
service hintService {
  hint hint(1: hint hint)
  c_hint c_hint(1: c_hint c_hint)
  hint /* not a group */ s_hint()
  void perf_goal()
  void _underscore1(1: i32 _2)
} (hint = "annotation")
