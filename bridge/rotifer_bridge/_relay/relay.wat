;; Makes the memory calls that its input lists, and gives each one's answer: a case's way in.
;;
;; Input:  [[call,length,request],...]   call: 0 read, 1 write, 2 query, 3 delete; length: the bytes of
;;                                       the request's JSON. Compact, as it always is.
;; Output: [[result,answer],...]         result: 0, or the negative number that the call gave; answer:
;;                                       what it wrote, null if that was nothing.
(module
  (type $call (func (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "readMemory" (func $read (type $call)))
  (import "rotifer" "writeMemory" (func $write (type $call)))
  (import "rotifer" "queryMemory" (func $query (type $call)))
  (import "rotifer" "deleteMemory" (func $delete (type $call)))
  (table funcref (elem $read $write $query $delete))
  (memory (export "memory") 512)          ;; 32 MiB: answers of 4 MiB in base64, and what was asked
  (global $in (mut i32) (i32.const 0))    ;; where the input is read
  (global $out (mut i32) (i32.const 0))   ;; where the output is written

  (func (export "alloc") (param $size i32) (result i32)
    (i32.const 1024))

  (func $byte (param $value i32)
    (i32.store8 (global.get $out) (local.get $value))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  ;; A number of decimal digits, and the comma behind it.
  (func $number (result i32)
    (local $sum i32) (local $digit i32)
    (loop $more
      (local.set $digit (i32.sub (i32.load8_u (global.get $in)) (i32.const 48)))
      (global.set $in (i32.add (global.get $in) (i32.const 1)))
      (if (i32.lt_u (local.get $digit) (i32.const 10))
        (then
          (local.set $sum
            (i32.add (i32.mul (local.get $sum) (i32.const 10)) (local.get $digit)))
          (br $more))))
    (local.get $sum))

  (func $digits (param $value i32)
    (if (i32.ge_u (local.get $value) (i32.const 10))
      (then (call $digits (i32.div_u (local.get $value) (i32.const 10)))))
    (call $byte (i32.add (i32.const 48) (i32.rem_u (local.get $value) (i32.const 10)))))

  ;; What the call has left behind its failure ends with a NUL; nothing becomes null.
  (func $envelope
    (if (i32.eqz (i32.load8_u (global.get $out)))
      (then
        (i32.store (global.get $out) (i32.const 0x6c6c756e)) ;; "null"
        (global.set $out (i32.add (global.get $out) (i32.const 4)))
        (return)))
    (loop $more
      (global.set $out (i32.add (global.get $out) (i32.const 1)))
      (br_if $more (i32.load8_u (global.get $out)))))

  ;; One call. The result stands before the answer, so the answer is written behind its place.
  (func $one
    (local $call i32) (local $length i32) (local $result i32) (local $start i32)
    (global.set $in (i32.add (global.get $in) (i32.const 1))) ;; [
    (local.set $call (call $number))
    (local.set $length (call $number))
    (local.set $start (global.get $out))
    (global.set $out (i32.add (global.get $out) (i32.const 5))) ;; room for [-13,
    (i32.store8 (global.get $out) (i32.const 0))
    (local.set $result
      (call_indirect (type $call)
        (global.get $in) (local.get $length)
        (global.get $out)
        (i32.sub (i32.const 33554400) (global.get $out))
        (local.get $call)))
    (global.set $in
      (i32.add (i32.add (global.get $in) (local.get $length)) (i32.const 1))) ;; ]
    (if (i32.lt_s (local.get $result) (i32.const 0))
      (then
        (call $envelope)
        (call $head (local.get $start) (i32.sub (i32.const 0) (local.get $result))))
      (else
        (global.set $out (i32.add (global.get $out) (local.get $result)))
        (call $head (local.get $start) (i32.const 0))))
    (call $byte (i32.const 93)))

  ;; "[-13," or, with spaces, "[  0,".
  (func $head (param $start i32) (param $number i32)
    (local $behind i32)
    (local.set $behind (global.get $out))
    (global.set $out (local.get $start))
    (call $byte (i32.const 91))
    (if (local.get $number)
      (then (call $byte (i32.const 45)))
      (else (call $byte (i32.const 32))))
    (call $digits (local.get $number))
    (if (i32.lt_u (local.get $number) (i32.const 10))
      (then (call $byte (i32.const 32))))
    (call $byte (i32.const 44))
    (global.set $out (local.get $behind)))

  (func (export "express") (param $ptr i32) (param $len i32) (result i32)
    (local $start i32)
    (global.set $in (i32.add (local.get $ptr) (i32.const 1)))
    (local.set $start
      (i32.and (i32.add (i32.add (local.get $ptr) (local.get $len)) (i32.const 64))
               (i32.const -16)))
    (global.set $out (local.get $start))
    (call $byte (i32.const 91))
    (block $end
      (br_if $end (i32.eq (i32.load8_u (global.get $in)) (i32.const 93)))
      (loop $more
        (call $one)
        (if (i32.eq (i32.load8_u (global.get $in)) (i32.const 44))
          (then
            (call $byte (i32.const 44))
            (global.set $in (i32.add (global.get $in) (i32.const 1)))
            (br $more)))))
    (call $byte (i32.const 93))
    (call $byte (i32.const 0))
    (local.get $start)))
