enum Level { LOW = 1, HIGH = 0x20 }
struct Point { 1: i32 x = 1, 2: i32 y }
struct Line { 1: Point from_point, 2: Point to_point, 3: map<string, Level> levels }
const i32 BASE = 5
const i32 SAME = BASE
const i32 FROM_ENUM = Level.HIGH
const Level LEVEL = Level.LOW
const Level LEVEL_BY_NUMBER = 32
const list<i32> NUMBERS = [1, 2; BASE Level.LOW,]
const list<i32> NONE = []
const set<string> WORDS = ["a", 'b']
const map<string, i32> MAP = {"a": 1, "b": BASE; "c": 3}
const map<string, list<i32>> NESTED = {"x": [1, 2], "y": []}
const map<i32, i32> EMPTY_MAP = {}
const Point POINT = {"x": 3, 'y': 4}
const Line LINE = {"from_point": {"x": 1}, "to_point": {"y": 2}, "levels": {"low": Level.LOW}}
const double RATIO = 3
struct Defaults {
  1: i32 a = BASE
  2: optional string b = "text"
  3: list<Point> c = [{"x": 1}, {}]
  4: Level d = Level.HIGH;
  5: bool e = true,
  6: Point f = {"x": BASE}
}
