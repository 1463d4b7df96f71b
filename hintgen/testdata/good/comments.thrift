// a line
# another line
/* a block */
/* over
   lines **/
/**/ /***/
/** A service. */
service S { // behind a brace
  /** A function,
   *  over two lines. */
  void f(/* no arguments */) /* before */ , // after
  # between
  void g(1: /* type */ i32 /* name */ a) /** stray */
} /* end */ // without a line end