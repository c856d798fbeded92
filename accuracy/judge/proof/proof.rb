# Runs main.rb, a program and its tests, and then writes what it was given on standard input: that the tests came to their end.
lambda do |given, main, leave, globals|
  $PROGRAM_NAME = main
  load main
  leave.call(1) unless globals.call.include?(:$DONE) && Object.instance_method(:raise).owner.equal?(Kernel)
  STDOUT.write(given)
  STDOUT.flush
end.call(STDIN.read, File.join(__dir__, 'main.rb'), Process.method(:exit!), method(:global_variables))
