enum Empty {}
enum Plain { A, B, C }
enum Mixed { ONE = 1; THREE = 3, FOUR MINUS = -5, NEXT }
enum Same { X = 7, Y = 7 }
enum Annotated {
  /** the first */
  P = 0x0A (old = "yes"),
  Q ( plain )
} (kind = "flags")
enum Largest { TOP = 2147483647 }
