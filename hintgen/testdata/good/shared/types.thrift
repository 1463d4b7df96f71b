typedef i64 Money

enum Color {
  RED = 1,
  GREEN,
  BLUE
}

const i32 LIMIT = 10
